//! The files of a crate that share a part: those that call each other's methods of one type, and those that touch the
//! fields of one struct.
//!
//! Read from syntax trees: the type of a value is known if its name is written, on a parameter, on a field, on the
//! result of a method, or at a constructor.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use syn::{
    Expr, ExprClosure, ExprField, ExprForLoop, ExprLet, ExprMatch, ExprMethodCall, ExprPath, ExprStruct,
    FnArg, ImplItemFn, ItemFn, ItemImpl, ItemMod, Local, Macro, Member, Pat, PatStruct, Signature, Token,
    parse::{ParseStream, Parser},
    visit::{self, Visit},
};

use super::{
    circles::{Arrows, Crate, among},
    types::{Known, Types, is_test},
};

/// The use that the files of a crate make of each other's types.
pub(crate) struct Parts {
    /// The imports of each file, and its calls of other files' methods of a type that has some in several files.
    pub(crate) arrows: Arrows,
    /// The number of fields of each struct.
    fields: BTreeMap<Known, usize>,
    /// The files that touch them.
    users: BTreeMap<Known, BTreeSet<String>>,
}

impl Parts {
    /// `files` are paths below `src`, with their texts.
    pub(crate) fn read(files: &[(String, String)]) -> Parts {
        let code = Crate::read(files);
        let trees = files.iter().filter(|(path, _)| code.has(path));
        let trees: Vec<(String, syn::File)> =
            trees.map(|(path, text)| (path.clone(), syn::parse_file(text).unwrap())).collect();
        let types = Types::read(&code, &trees);
        let (mut arrows, mut users) = (Arrows::new(), BTreeMap::<Known, BTreeSet<String>>::new());
        for (file, tree) in &trees {
            let mut walk = Walk::new(&types, file);
            walk.visit_file(tree);
            arrows.insert(file.clone(), &walk.calls | &code.imported(file));
            for touched in walk.touched {
                users.entry(touched).or_default().insert(file.clone());
            }
        }
        let fields = types.fields.into_iter().map(|(of, fields)| (of, fields.len())).collect();
        Parts { arrows, fields, users }
    }

    /// The structs of more than `most` fields: the name of each, and how many files touch one of them.
    pub(crate) fn wide(&self, most: usize) -> impl Iterator<Item = (&str, usize)> {
        let wide = self.fields.iter().filter(move |(_, fields)| **fields > most);
        wide.map(|(of, _)| (of.1.as_str(), self.users.get(of).map_or(0, BTreeSet::len)))
    }

    /// Files of the largest circle, 0 if there is none.
    pub(crate) fn largest_circle(&self) -> usize {
        among(&self.arrows).map(|circle| circle.len()).max().unwrap_or(0)
    }
}

/// A walk through one file.
struct Walk<'a> {
    types: &'a Types,
    file: &'a str,
    /// The type of the `impl` that it is in.
    owner: Option<Known>,
    /// The types of the names in scope.
    locals: HashMap<String, Option<Known>>,
    calls: BTreeSet<String>,
    touched: BTreeSet<Known>,
}

impl<'a> Walk<'a> {
    fn new(types: &'a Types, file: &'a str) -> Walk<'a> {
        let (locals, calls, touched) = (HashMap::new(), BTreeSet::new(), BTreeSet::new());
        Walk { types, file, owner: None, locals, calls, touched }
    }

    fn call(&mut self, of: &Known, method: &str) {
        let others = self.types.files_of(of, method).filter(|file| *file != self.file);
        self.calls.extend(others.cloned());
    }

    fn touch(&mut self, of: Known, field: &str) {
        if self.types.fields.get(&of).is_some_and(|fields| fields.contains_key(field)) {
            self.touched.insert(of);
        }
    }

    /// The type of a value.
    fn value(&self, value: &Expr) -> Option<Known> {
        match value {
            Expr::Path(path) => self.local(path),
            Expr::Field(field) => {
                let Member::Named(name) = &field.member else { return self.value(&field.base) };
                let fields = self.types.fields.get(&self.value(&field.base)?)?;
                fields.get(&name.to_string())?.clone()
            }
            Expr::MethodCall(call) => {
                self.types.result(&self.value(&call.receiver)?, &call.method.to_string())
            }
            Expr::Call(call) => match &*call.func {
                Expr::Path(function) => self.called(function).or_else(|| {
                    let holds = ["Some", "Ok"].iter().any(|name| function.path.is_ident(name));
                    call.args.first().filter(|_| holds).and_then(|inner| self.value(inner))
                }),
                _ => None,
            },
            Expr::Struct(made) => self.types.at(self.file, &made.path, self.owner.as_ref()),
            Expr::Reference(inner) => self.value(&inner.expr),
            Expr::Paren(inner) => self.value(&inner.expr),
            Expr::Unary(inner) => self.value(&inner.expr),
            Expr::Try(inner) => self.value(&inner.expr),
            Expr::Index(inner) => self.value(&inner.expr),
            _ => None,
        }
    }

    fn local(&self, path: &ExprPath) -> Option<Known> {
        let name = path.path.get_ident()?;
        if name == "self" { self.owner.clone() } else { self.locals.get(&name.to_string())?.clone() }
    }

    /// The result of a function that is called as `Type::function`.
    fn called(&self, function: &ExprPath) -> Option<Known> {
        let (of, name) = self.function(function)?;
        if self.types.has(&of, &name) { self.types.result(&of, &name) } else { None }
    }

    /// The type and the name of a function in a path `Type::function`.
    fn function(&self, path: &ExprPath) -> Option<(Known, String)> {
        let mut segments = path.path.segments.iter().rev();
        let (name, of) = (segments.next()?, segments.next()?);
        Some((self.types.named(self.file, of, self.owner.as_ref())?, name.ident.to_string()))
    }

    /// Gives the names of a pattern the type of the value it is matched with.
    fn bind(&mut self, pattern: &Pat, known: Option<Known>) {
        match pattern {
            Pat::Ident(name) => {
                self.locals.insert(name.ident.to_string(), known);
            }
            Pat::Type(typed) => {
                let known = self.types.known(self.file, &typed.ty, self.owner.as_ref());
                self.bind(&typed.pat, known);
            }
            Pat::Reference(inner) => self.bind(&inner.pat, known),
            Pat::Paren(inner) => self.bind(&inner.pat, known),
            Pat::Tuple(inner) => inner.elems.iter().for_each(|part| self.bind(part, known.clone())),
            Pat::TupleStruct(inner) => inner.elems.iter().for_each(|part| self.bind(part, known.clone())),
            Pat::Slice(inner) => inner.elems.iter().for_each(|part| self.bind(part, known.clone())),
            Pat::Or(inner) => inner.cases.iter().for_each(|part| self.bind(part, known.clone())),
            Pat::Struct(inner) => self.bind_fields(inner),
            _ => {}
        }
    }

    fn bind_fields(&mut self, pattern: &PatStruct) {
        let of = self.types.at(self.file, &pattern.path, self.owner.as_ref());
        for part in &pattern.fields {
            let Member::Named(name) = &part.member else { continue };
            let name = name.to_string();
            let fields = of.as_ref().and_then(|of| self.types.fields.get(of));
            let known = fields.and_then(|fields| fields.get(&name)).cloned().flatten();
            if let Some(of) = of.clone() {
                self.touch(of, &name);
            }
            self.bind(&part.pat, known);
        }
    }

    /// Walks through something that ends the life of its names.
    fn within(&mut self, walk: impl FnOnce(&mut Self)) {
        let outside = self.locals.clone();
        walk(self);
        self.locals = outside;
    }

    fn parameters(&mut self, signature: &Signature) {
        self.locals.clear();
        for input in &signature.inputs {
            if let FnArg::Typed(typed) = input {
                let known = self.types.known(self.file, &typed.ty, self.owner.as_ref());
                self.bind(&typed.pat, known);
            }
        }
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let outside = self.owner.take();
        self.owner = self.types.known(self.file, &item.self_ty, None);
        visit::visit_item_impl(self, item);
        self.owner = outside;
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if !is_test(&item.attrs) {
            self.within(|walk| {
                walk.parameters(&item.sig);
                visit::visit_item_fn(walk, item);
            });
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !is_test(&item.attrs) {
            self.within(|walk| {
                walk.parameters(&item.sig);
                visit::visit_impl_item_fn(walk, item);
            });
        }
    }

    fn visit_local(&mut self, item: &'ast Local) {
        visit::visit_local(self, item);
        let known = item.init.as_ref().and_then(|init| self.value(&init.expr));
        self.bind(&item.pat, known);
    }

    fn visit_expr_let(&mut self, item: &'ast ExprLet) {
        visit::visit_expr_let(self, item);
        let known = self.value(&item.expr);
        self.bind(&item.pat, known);
    }

    fn visit_expr_for_loop(&mut self, item: &'ast ExprForLoop) {
        let known = self.value(&item.expr);
        self.bind(&item.pat, known);
        visit::visit_expr_for_loop(self, item);
    }

    fn visit_expr_match(&mut self, item: &'ast ExprMatch) {
        let known = self.value(&item.expr);
        self.visit_expr(&item.expr);
        for arm in &item.arms {
            self.within(|walk| {
                walk.bind(&arm.pat, known.clone());
                walk.visit_arm(arm);
            });
        }
    }

    fn visit_expr_closure(&mut self, item: &'ast ExprClosure) {
        self.within(|walk| visit::visit_expr_closure(walk, item));
    }

    fn visit_expr_method_call(&mut self, item: &'ast ExprMethodCall) {
        let of = self.value(&item.receiver);
        let method = item.method.to_string();
        if let Some(of) = &of
            && matches!(&*item.receiver, Expr::Path(path) if path.path.is_ident("self"))
        {
            self.call(of, &method);
        }
        // A method that the crate does not declare hands on the value it is called on, as `map` does.
        let handed = of.filter(|of| !self.types.has(of, &method));
        self.visit_expr(&item.receiver);
        for argument in &item.args {
            self.within(|walk| {
                if let Expr::Closure(closure) = argument {
                    closure.inputs.iter().for_each(|input| walk.bind(input, handed.clone()));
                }
                walk.visit_expr(argument);
            });
        }
    }

    fn visit_expr_path(&mut self, item: &'ast ExprPath) {
        if let Some((of, name)) = self.function(item) {
            self.call(&of, &name);
        }
    }

    fn visit_expr_field(&mut self, item: &'ast ExprField) {
        if let (Member::Named(name), Some(of)) = (&item.member, self.value(&item.base)) {
            self.touch(of, &name.to_string());
        }
        visit::visit_expr_field(self, item);
    }

    fn visit_expr_struct(&mut self, item: &'ast ExprStruct) {
        let of = self.types.at(self.file, &item.path, self.owner.as_ref());
        for field in &item.fields {
            if let (Member::Named(name), Some(of)) = (&field.member, &of) {
                self.touch(of.clone(), &name.to_string());
            }
        }
        visit::visit_expr_struct(self, item);
    }

    /// Visits the arguments of a macro, as far as these are expressions.
    fn visit_macro(&mut self, item: &'ast Macro) {
        let read = |input: ParseStream<'_>| {
            let mut found = Vec::new();
            while let Ok(value) = input.parse::<Expr>() {
                found.push(value);
                if input.parse::<Token![,]>().is_err() {
                    break;
                }
            }
            // The rest is something else.
            input.step(|cursor| {
                let mut rest = *cursor;
                while let Some((_, next)) = rest.token_tree() {
                    rest = next;
                }
                Ok(((), rest))
            })?;
            Ok(found)
        };
        for value in read.parse2(item.tokens.clone()).unwrap_or_default() {
            self.visit_expr(&value);
        }
    }
}
