//! The validator of arguments, for schemas that demand more than a type.

#[cfg(feature = "validate")]
use mgp_security::Schema;
use mgp_types::RawJson;

/// Checks arguments against a schema, where reading them into a type does not.
///
/// The validator never fetches anything: a reference that leads out of the schema is a fault of the schema.
#[cfg(feature = "validate")]
#[derive(Debug)]
pub(crate) struct Validator {
    compiled: Schema,
}

/// The validator does not exist without the feature `validate`.
#[cfg(not(feature = "validate"))]
#[derive(Debug)]
pub(crate) enum Validator {}

#[cfg(feature = "validate")]
impl Validator {
    /// Compiles `schema`; the error is for the author of the schema.
    pub(crate) fn compile(schema: &RawJson) -> Result<Self, String> {
        Schema::compile_with_formats(schema)
            .map(|compiled| Self { compiled })
            .map_err(|fault| fault.to_string())
    }

    /// Returns an error that names the fault of `arguments`, if there is one.
    pub(crate) fn check(&self, arguments: &[u8]) -> Result<(), String> {
        self.compiled.check(arguments).map_err(|violation| violation.to_string())
    }
}

#[cfg(not(feature = "validate"))]
impl Validator {
    /// Refuses the schema: its demands would not be checked, and silence about that would be a hole.
    pub(crate) fn compile(_: &RawJson) -> Result<Self, String> {
        Err("the schema demands more than reading the arguments checks: turn on the feature `validate`, or check \
             in the handler and say so with `Tool::unvalidated`"
            .into())
    }

    pub(crate) fn check(&self, _: &[u8]) -> Result<(), String> {
        match *self {}
    }
}

#[cfg(test)]
#[cfg(not(feature = "validate"))]
mod tests {
    use super::*;

    #[test]
    fn a_schema_that_would_not_be_checked_is_refused() {
        assert!(Validator::compile(&RawJson::empty_object()).unwrap_err().contains("validate"));
    }
}
