//! Reading typed values from texts: the variables of a template, the arguments of a prompt.

use mgp_types::Error;
use serde::de::value::{Error as TextFault, MapDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

/// Reads a `T` with these members of `what`. Members that are numbers or booleans are read from their text.
pub(crate) fn read<'a, T: DeserializeOwned>(
    what: &str,
    members: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<T, Error> {
    T::deserialize(MapDeserializer::new(members.map(|(name, text)| (name, Text(text)))))
        .map_err(|fault: TextFault| Error::invalid_params(format!("invalid {what}: {fault}")))
}

/// One text that may stand for another kind of value.
#[derive(Clone, Copy)]
struct Text<'a>(&'a str);

impl IntoDeserializer<'_, TextFault> for Text<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! parsed {
    ($($method:ident $visit:ident $kind:literal;)+) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TextFault> {
            let value = self.0.parse();
            visitor.$visit(value.map_err(|_| TextFault::custom(format_args!("`{}` is not {}", self.0, $kind)))?)
        })+
    };
}

impl<'de> Deserializer<'de> for Text<'_> {
    type Error = TextFault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TextFault> {
        visitor.visit_str(self.0)
    }

    parsed! {
        deserialize_bool visit_bool "true or false";
        deserialize_i8 visit_i8 "an integer";
        deserialize_i16 visit_i16 "an integer";
        deserialize_i32 visit_i32 "an integer";
        deserialize_i64 visit_i64 "an integer";
        deserialize_u8 visit_u8 "an integer";
        deserialize_u16 visit_u16 "an integer";
        deserialize_u32 visit_u32 "an integer";
        deserialize_u64 visit_u64 "an integer";
        deserialize_f32 visit_f32 "a number";
        deserialize_f64 visit_f64 "a number";
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TextFault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, TextFault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TextFault> {
        visitor.visit_enum(self.0.into_deserializer())
    }

    forward_to_deserialize_any! {
        i128 u128 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Shape {
        id: u64,
        name: Option<String>,
        kind: Kind,
        missing: Option<i8>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Big,
    }

    #[test]
    fn texts_become_what_the_type_wants() {
        let members = [("id", "7"), ("name", "x"), ("kind", "big"), ("other", "ignored")];
        let shape: Shape = read("members", members.into_iter()).unwrap();
        assert_eq!(shape, Shape { id: 7, name: Some("x".into()), kind: Kind::Big, missing: None });
    }

    #[test]
    fn a_fault_says_what_is_expected() {
        let fault = read::<Shape>("members", [("id", "seven")].into_iter()).unwrap_err();
        assert!(fault.message().contains("`seven` is not an integer"), "{fault}");
    }
}
