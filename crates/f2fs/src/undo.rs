//! A map with undo: a call that fails halfway has done nothing.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    ops::Deref,
};

/// A map that remembers, between [`Tracked::begin`] and its end, its former values.
pub(crate) struct Tracked<K, V> {
    map: BTreeMap<K, V>,
    /// The former values of changed keys.
    before: Option<BTreeMap<K, Option<V>>>,
}

impl<K: Ord + Clone, V: Clone> Tracked<K, V> {
    pub(crate) fn empty() -> Tracked<K, V> {
        Tracked::new(BTreeMap::new())
    }

    pub(crate) fn new(map: BTreeMap<K, V>) -> Tracked<K, V> {
        Tracked { map, before: None }
    }

    /// Remembers from now on.
    pub(crate) fn begin(&mut self) {
        self.before = Some(BTreeMap::new());
    }

    /// Stays as it is.
    pub(crate) fn keep(&mut self) {
        self.before = None;
    }

    /// Is as it was at the beginning.
    pub(crate) fn take_back(&mut self) {
        debug_assert!(self.before.is_some(), "nothing was begun");
        for (key, value) in self.before.take().unwrap_or_default() {
            match value {
                Some(value) => self.map.insert(key, value),
                None => self.map.remove(&key),
            };
        }
    }

    fn remember(&mut self, key: &K) {
        if let Some(before) = &mut self.before
            && !before.contains_key(key)
        {
            before.insert(key.clone(), self.map.get(key).cloned());
        }
    }

    /// Puts a value in; returns it, to be changed.
    pub(crate) fn put(&mut self, key: K, value: V) -> &mut V {
        self.remember(&key);
        match self.map.entry(key) {
            Entry::Vacant(place) => place.insert(value),
            Entry::Occupied(place) => {
                let place = place.into_mut();
                *place = value;
                place
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        self.remember(key);
        self.map.remove(key)
    }

    pub(crate) fn pop_first(&mut self) -> Option<(K, V)> {
        let key = self.map.keys().next()?.clone();
        let value = self.remove(&key)?;
        Some((key, value))
    }

    pub(crate) fn clear(&mut self) {
        debug_assert!(self.before.is_none(), "nothing is forgotten in the middle of a call");
        self.map.clear();
    }
}

impl<K, V> Deref for Tracked<K, V> {
    type Target = BTreeMap<K, V>;

    fn deref(&self) -> &BTreeMap<K, V> {
        &self.map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_is_again() {
        let mut map = Tracked::new([(1, 'a'), (2, 'b')].into());
        map.begin();
        map.put(1, 'c');
        map.put(1, 'd');
        map.put(3, 'e');
        map.remove(&2);
        map.take_back();
        assert_eq!(*map, [(1, 'a'), (2, 'b')].into());
        map.begin();
        map.remove(&1);
        map.keep();
        assert_eq!(*map, [(2, 'b')].into());
    }
}
