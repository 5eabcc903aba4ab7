//! The names of the members of a value, derived from the types of the bodies.

use super::{Map, Meta};

/// The names that the protocol knows in a value, level by level.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// A value in which the protocol knows no names: a text, or a value that belongs to tools, schemas and
    /// applications.
    Opaque,
    /// An object with these members; others may stand beside them.
    Object(&'static [Member]),
    /// An object with members of these names, whose values are opaque.
    Names(&'static [&'static str]),
    /// A list of values of this shape, or one of them in its place.
    Each(fn() -> Self),
    /// An object whose member names are data, and whose values have this shape.
    Values(fn() -> Self),
    /// A value of one of these kinds.
    AnyOf(&'static [fn() -> Self]),
}

/// A member of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    pub(crate) name: &'static str,
    /// The shape of the member's value. It is a function, because bodies contain themselves.
    pub(crate) shape: fn() -> Shape,
}

/// A type of the wire whose member names are known.
pub(crate) trait Shaped {
    /// Returns the shape of the type's values.
    fn shape() -> Shape {
        Shape::Opaque
    }
}

impl<T: Shaped> Shaped for Option<T> {
    fn shape() -> Shape {
        T::shape()
    }
}

impl<T: Shaped> Shaped for Box<T> {
    fn shape() -> Shape {
        T::shape()
    }
}

impl<T: Shaped> Shaped for Vec<T> {
    fn shape() -> Shape {
        Shape::Each(T::shape)
    }
}

impl<V: Shaped> Shaped for Map<V> {
    fn shape() -> Shape {
        Shape::Values(V::shape)
    }
}

impl Shaped for Meta {
    fn shape() -> Shape {
        Shape::Object(super::meta::KEYS)
    }
}
