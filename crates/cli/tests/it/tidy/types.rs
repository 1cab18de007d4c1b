//! The declarations of a crate: its types with their fields and methods, and the type that a written name stands for.
//!
//! Type arguments do not tell types apart, and a holder of a value (a reference, `Option`, a list) stands for it.

use std::collections::{BTreeMap, BTreeSet};

use syn::{
    Fields, GenericArgument, ImplItem, Item, ItemImpl, ItemMod, ItemStruct, PathArguments, PathSegment,
    ReturnType, Type, TypeParamBound,
};

use super::circles::Crate;

/// A type of the crate: the file that defines it, and its name.
pub(crate) type Known = (String, String);

#[derive(Default)]
pub(crate) struct Types {
    /// The imports of each file: a name there, to the file and the name it has.
    imports: BTreeMap<String, BTreeMap<String, Known>>,
    /// The files that define a type of a name.
    defined: BTreeMap<String, BTreeSet<String>>,
    pub(crate) fields: BTreeMap<Known, BTreeMap<String, Option<Known>>>,
    /// The files with an `impl` of a type.
    homes: BTreeMap<Known, BTreeSet<String>>,
    methods: BTreeMap<(Known, String), Method>,
}

#[derive(Default)]
struct Method {
    /// Several only where it comes from traits.
    files: BTreeSet<String>,
    result: Option<Known>,
}

impl Types {
    pub(crate) fn read(code: &Crate, trees: &[(String, syn::File)]) -> Types {
        let mut types = Types::default();
        for (file, tree) in trees {
            types.imports.insert(file.clone(), code.names(file));
            for item in items(&tree.items) {
                let name = match item {
                    Item::Struct(item) => &item.ident,
                    Item::Enum(item) => &item.ident,
                    _ => continue,
                };
                types.defined.entry(name.to_string()).or_default().insert(file.clone());
            }
        }
        for (file, tree) in trees {
            for item in items(&tree.items) {
                match item {
                    Item::Struct(item) => types.declare(file, item),
                    Item::Impl(item) => types.implement(file, item),
                    _ => {}
                }
            }
        }
        types
    }

    fn declare(&mut self, file: &str, item: &ItemStruct) {
        let Fields::Named(fields) = &item.fields else { return };
        let fields = fields.named.iter().map(|field| {
            let name = field.ident.as_ref().unwrap().to_string();
            (name, self.known(file, &field.ty, None))
        });
        let fields = fields.collect();
        self.fields.insert((file.to_owned(), item.ident.to_string()), fields);
    }

    fn implement(&mut self, file: &str, item: &ItemImpl) {
        let Some(owner) = self.known(file, &item.self_ty, None) else { return };
        self.homes.entry(owner.clone()).or_default().insert(file.to_owned());
        for part in &item.items {
            let ImplItem::Fn(method) = part else { continue };
            let result = match &method.sig.output {
                ReturnType::Default => None,
                ReturnType::Type(_, result) => self.known(file, result, Some(&owner)),
            };
            let method = self.methods.entry((owner.clone(), method.sig.ident.to_string())).or_default();
            method.files.insert(file.to_owned());
            method.result = method.result.take().or(result);
        }
    }

    /// The type that a written one is or holds, in a file and in the `impl` of `owner`.
    pub(crate) fn known(&self, file: &str, written: &Type, owner: Option<&Known>) -> Option<Known> {
        match written {
            Type::Reference(inner) => self.known(file, &inner.elem, owner),
            Type::Paren(inner) => self.known(file, &inner.elem, owner),
            Type::Slice(inner) => self.known(file, &inner.elem, owner),
            Type::Array(inner) => self.known(file, &inner.elem, owner),
            Type::Path(named) => self.at(file, &named.path, owner),
            Type::ImplTrait(traits) => traits.bounds.iter().find_map(|bound| match bound {
                TypeParamBound::Trait(bound) => self.at(file, &bound.path, owner),
                _ => None,
            }),
            _ => None,
        }
    }

    pub(crate) fn at(&self, file: &str, path: &syn::Path, owner: Option<&Known>) -> Option<Known> {
        self.named(file, path.segments.last()?, owner)
    }

    pub(crate) fn named(&self, file: &str, last: &PathSegment, owner: Option<&Known>) -> Option<Known> {
        let name = last.ident.to_string();
        if name == "Self" {
            return owner.cloned();
        }
        self.find(file, &name).or_else(|| {
            let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
            arguments.args.iter().find_map(|argument| match argument {
                GenericArgument::Type(inner) => self.known(file, inner, owner),
                GenericArgument::AssocType(inner) => self.known(file, &inner.ty, owner),
                _ => None,
            })
        })
    }

    /// The type of a name in a file. A name that is not imported is the file's own, or the only one in the crate.
    fn find(&self, file: &str, name: &str) -> Option<Known> {
        if let Some(imported) = self.imports[file].get(name) {
            let (home, name) = imported;
            return self.defined.get(name).filter(|files| files.contains(home)).map(|_| imported.clone());
        }
        let files = self.defined.get(name)?;
        let home = files.get(file).or_else(|| files.first().filter(|_| files.len() == 1))?;
        Some((home.clone(), name.to_owned()))
    }

    /// The result of a method: the type held in it, if that is a type of the crate. A method that the crate does not
    /// declare gives back the type that it was called on, as `unwrap` and `iter` do.
    pub(crate) fn result(&self, of: &Known, method: &str) -> Option<Known> {
        match self.methods.get(&(of.clone(), method.to_owned())) {
            Some(method) => method.result.clone(),
            None => Some(of.clone()),
        }
    }

    pub(crate) fn has(&self, of: &Known, method: &str) -> bool {
        self.methods.contains_key(&(of.clone(), method.to_owned()))
    }

    /// The files of a method, if its type has an `impl` in several.
    pub(crate) fn files_of(&self, of: &Known, method: &str) -> impl Iterator<Item = &String> {
        let spread = self.homes.get(of).is_some_and(|files| files.len() > 1);
        let method = self.methods.get(&(of.clone(), method.to_owned())).filter(|_| spread);
        method.into_iter().flat_map(|method| &method.files)
    }
}

/// All items but for unit tests, those of modules within a file too.
fn items(all: &[Item]) -> Box<dyn Iterator<Item = &Item> + '_> {
    Box::new(all.iter().flat_map(|item| match item {
        Item::Mod(ItemMod { content: Some((_, inner)), attrs, .. }) if !is_test(attrs) => items(inner),
        Item::Mod(_) => Box::new(std::iter::empty()),
        item => Box::new(std::iter::once(item)),
    }))
}

/// Whether something is compiled for unit tests alone.
pub(crate) fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}
