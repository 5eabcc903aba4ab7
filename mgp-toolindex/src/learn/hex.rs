//! Bytes as hexadecimal text, for `#[serde(with = "hex")]`.

use std::fmt::Write as _;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

pub(super) fn serialize<S: Serializer>(bytes: impl AsRef<[u8]>, to: S) -> Result<S::Ok, S::Error> {
    let bytes = bytes.as_ref();
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    to.serialize_str(&text)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>, T: TryFrom<Vec<u8>>>(from: D) -> Result<T, D::Error> {
    let text = std::borrow::Cow::<str>::deserialize(from)?;
    let wrong = || D::Error::custom("expected hexadecimal digits, two for each byte");
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return Err(wrong()) };
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes: Option<Vec<u8>> =
        pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect();
    T::try_from(bytes.ok_or_else(wrong)?).map_err(|_| D::Error::custom("there are too few or too many bytes"))
}
