//! An ordered map from member names to values.

use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::ForRevision;
use crate::json::FrameText;
use crate::{RawJson, Revision};

/// The members of an object that its type does not name, in the order they came.
pub type Extra = Map<RawJson>;

/// A JSON object whose member names are data. The map keeps their order, and allocates nothing while it is empty.
///
/// Lookup is linear, because such objects hold a handful of members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Map<V>(Vec<(Box<str>, V)>);

/// The number of members up to which comparing all pairs is cheaper than hashing.
const FEW: usize = 16;

impl<V> Map<V> {
    /// Creates an empty map.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the value of the member `name`.
    pub fn get(&self, name: &str) -> Option<&V> {
        self.0.iter().find(|(member, _)| &**member == name).map(|(_, value)| value)
    }

    /// Returns the value of the member `name` for changes.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut V> {
        self.0.iter_mut().find(|(member, _)| &**member == name).map(|(_, value)| value)
    }

    /// Sets the member `name`, in its old place if the map has it, and returns its old value.
    pub fn insert(&mut self, name: impl Into<Box<str>>, value: V) -> Option<V> {
        let name = name.into();
        if let Some(old) = self.get_mut(&name) {
            return Some(std::mem::replace(old, value));
        }
        self.0.push((name, value));
        None
    }

    /// Removes the member `name` and returns its value; the other members keep their order.
    pub fn remove(&mut self, name: &str) -> Option<V> {
        let position = self.0.iter().position(|(member, _)| &**member == name)?;
        Some(self.0.remove(position).1)
    }

    /// Keeps the members for which `keep` returns `true`.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &mut V) -> bool) {
        self.0.retain_mut(|(name, value)| keep(name, value));
    }

    /// Returns the members in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    /// Adds a member read from the wire; [`refuse_duplicate`](Self::refuse_duplicate) must follow the last one.
    pub(super) fn push_unchecked(&mut self, name: &str, value: V) {
        self.0.push((name.into(), value));
    }

    /// Fails if a member read from the wire occurs twice. The search takes linear time, however many members a peer sends.
    pub(super) fn refuse_duplicate<E: de::Error>(&self) -> Result<(), E> {
        let names = || self.0.iter().map(|(name, _)| &**name);
        let twice = if self.0.len() <= FEW {
            names()
                .enumerate()
                .find(|(at, name)| names().take(*at).any(|before| before == *name))
                .map(|(_, name)| name)
        } else {
            let mut seen = HashSet::with_capacity(self.0.len());
            names().find(|name| !seen.insert(*name))
        };
        twice.map_or(Ok(()), |name| Err(E::custom(format_args!("duplicate field `{name}`"))))
    }

    /// Writes the members into an object that is being written.
    pub(super) fn write_into<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>
    where
        V: Serialize,
    {
        self.0.iter().try_for_each(|(name, value)| map.serialize_entry(&**name, value))
    }
}

impl Map<RawJson> {
    /// Reads the value of the member `name` as a `T`; returns `None` if there is no such member.
    ///
    /// # Errors
    /// The value does not have the shape of `T`.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, serde_json::Error> {
        self.get(name).map(RawJson::to).transpose()
    }
}

impl<V> Default for Map<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<N: Into<Box<str>>, V> FromIterator<(N, V)> for Map<V> {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(members: I) -> Self {
        let mut map = Self::new();
        for (name, value) in members {
            map.insert(name, value);
        }
        map
    }
}

impl<V> IntoIterator for Map<V> {
    type Item = (Box<str>, V);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<V: ForRevision> ForRevision for Map<V> {
    fn fit(&mut self, revision: Revision) {
        self.0.iter_mut().for_each(|(_, value)| value.fit(revision));
    }
}

impl<V: Serialize> Serialize for Map<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Map<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor<V>(PhantomData<V>);

        impl<'de, V: Deserialize<'de>> Visitor<'de> for MembersVisitor<V> {
            type Value = Map<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Map<V>, A::Error> {
                let mut members = Map::new();
                while let Some(name) = map.next_key::<FrameText<'de>>()? {
                    members.push_unchecked(&name.0, map.next_value()?);
                }
                members.refuse_duplicate()?;
                Ok(members)
            }
        }

        deserializer.deserialize_map(MembersVisitor(PhantomData))
    }
}
