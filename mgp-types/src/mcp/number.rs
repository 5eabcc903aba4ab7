//! Numbers that keep the form they had on the wire.

use serde::{Deserialize, Serialize};

use super::body::plain;

/// A JSON number. An integer stays an integer.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Number(Form);

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number")]
enum Form {
    Integer(i64),
    Unsigned(u64),
    Float(f64),
}

impl Number {
    /// Returns the nearest floating point number.
    #[expect(clippy::cast_precision_loss, reason = "a priority or a count of work, not an identity")]
    pub const fn as_f64(self) -> f64 {
        match self.0 {
            Form::Integer(number) => number as f64,
            Form::Unsigned(number) => number as f64,
            Form::Float(number) => number,
        }
    }

    /// Returns the integer; `None` for a fraction and for an integer beyond `i64`.
    pub const fn as_i64(self) -> Option<i64> {
        if let Form::Integer(number) = self.0 { Some(number) } else { None }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        match (self.0, other.0) {
            (Form::Integer(a), Form::Integer(b)) => a == b,
            (Form::Unsigned(a), Form::Unsigned(b)) => a == b,
            _ => self.as_f64() == other.as_f64(),
        }
    }
}

crate::convert!(i64 => Number, number => Self(Form::Integer(number)));

crate::convert!(i32 => Number, number => Self(Form::Integer(number.into())));

crate::convert!(u32 => Number, number => Self(Form::Integer(number.into())));

crate::convert!(
    /// Writes infinities and not-a-number as `null`, because JSON lacks them.
    f64 => Number, number => Self(Form::Float(number))
);

plain!(Number);
