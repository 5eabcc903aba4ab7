//! Places in a long call from which another call can go on.

use super::written;
use crate::macros::record;
use crate::{Error, Object, RawJson};

/// The most bytes of a checkpoint's token.
pub const MAX_CHECKPOINT_BYTES: usize = 8192;

/// The member of a call's `_meta` that says where the call goes on.
pub const RESUME: &str = "resume";

record! {
    /// The point at which an interrupted call goes on: `_meta.resume` of the same call, made again.
    pub struct Resume shows operation_id: Eq {
        /// The operation that the interrupted call was about.
        required operation_id: into Box<str>;
        /// The token of the last chunk or report of progress that came.
        required checkpoint_token: into Box<str>;
    }
}

impl Resume {
    /// Reads the wish in the metadata of a call; `None` if the call begins anew.
    ///
    /// # Errors
    ///
    /// -32602 for a wish of another form. It is not overlooked, or the call would begin anew.
    pub fn read(meta: &Object) -> Result<Option<Self>, Error> {
        let Some(resume) = meta.get(RESUME) else { return Ok(None) };
        resume.to().map(Some).map_err(|error| {
            let form =
                "`_meta.resume` must be an object with the strings `operation_id` and `checkpoint_token`";
            Error::invalid_params(form).with_source(error)
        })
    }

    /// Returns the wish as JSON.
    pub fn to_raw(&self) -> RawJson {
        written(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: EXT-08-03
    #[test]
    fn a_call_goes_on_by_its_operation_and_its_token() {
        let meta = |json: &'static str| Object::parse(json).unwrap();
        let json = r#"{"resume":{"operation_id":"op-42","checkpoint_token":"ck"}}"#;
        let resume = Resume::read(&meta(json)).unwrap().unwrap();
        assert_eq!(resume, Resume::new("op-42", "ck"));
        assert_eq!(resume.to_raw().as_bytes(), br#"{"operation_id":"op-42","checkpoint_token":"ck"}"#);
        assert!(!format!("{resume:?}").contains("ck"), "a token is no text for logs");
        assert_eq!(Resume::read(&meta("{}")).unwrap(), None);
        for wrong in [r#"{"resume":"ck"}"#, r#"{"resume":{"operation_id":"op-42"}}"#, r#"{"resume":null}"#] {
            assert_eq!(Resume::read(&meta(wrong)).unwrap_err().code(), -32602, "{wrong}");
        }
    }
}
