//! The values that a resource's handler may return, and their form in base64.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use mgp_types::Error;
use mgp_types::mcp::ResourceContents;

use crate::tool::ToolError;

/// Bytes that are the contents of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a wrapper that names how its value is written")]
pub struct Blob<B>(pub B);

/// A value that a resource's handler may return.
///
/// Texts and bytes get the requested URI and the media type of the resource; `None` means that the resource does not
/// exist.
#[diagnostic::on_unimplemented(
    message = "a resource cannot be read as `{Self}`",
    label = "not the contents of a resource",
    note = "return a text, `Bytes` or `Vec<u8>`, `Blob<_>`, `ResourceContents` or a `Vec` of them, an `Option` of one of \
            these, or a `Result` of one and `ToolError`"
)]
pub trait IntoContents: Sized {
    /// Returns the contents; `None` if the resource does not exist.
    ///
    /// # Errors
    /// The read is answered with a JSON-RPC error.
    fn into_contents(self, uri: &str, media_type: Option<&str>) -> ReadContents;
}

/// The contents that were read; `None` if the resource does not exist.
type ReadContents = Result<Option<Vec<ResourceContents>>, Error>;

macro_rules! one_of {
    ($($type:ty: |$uri:ident, $own:ident| $contents:expr;)+) => {
        $(impl IntoContents for $type {
            fn into_contents(self, $uri: &str, media_type: Option<&str>) -> ReadContents {
                let $own = self;
                Ok(Some(vec![one($contents, media_type)]))
            }
        })+
    };
}

one_of! {
    String: |uri, text| ResourceContents::text(uri, text);
    &'static str: |uri, text| ResourceContents::text(uri, text);
    Cow<'static, str>: |uri, text| ResourceContents::text(uri, text);
    Vec<u8>: |uri, bytes| ResourceContents::blob(uri, base64(bytes));
    Bytes: |uri, bytes| ResourceContents::blob(uri, base64(bytes));
    &'static [u8]: |uri, bytes| ResourceContents::blob(uri, base64(bytes));
}

impl<B: AsRef<[u8]>> IntoContents for Blob<B> {
    fn into_contents(self, uri: &str, media_type: Option<&str>) -> ReadContents {
        Ok(Some(vec![one(ResourceContents::blob(uri, base64(self.0)), media_type)]))
    }
}

impl IntoContents for ResourceContents {
    fn into_contents(self, _: &str, _: Option<&str>) -> ReadContents {
        Ok(Some(vec![self]))
    }
}

impl IntoContents for Vec<ResourceContents> {
    fn into_contents(self, _: &str, _: Option<&str>) -> ReadContents {
        Ok(Some(self))
    }
}

impl<T: IntoContents> IntoContents for Option<T> {
    fn into_contents(self, uri: &str, media_type: Option<&str>) -> ReadContents {
        self.map_or(Ok(None), |contents| contents.into_contents(uri, media_type))
    }
}

impl<T: IntoContents, E: Into<ToolError>> IntoContents for Result<T, E> {
    fn into_contents(self, uri: &str, media_type: Option<&str>) -> ReadContents {
        self.map_err(|error| error.into().into_error())?.into_contents(uri, media_type)
    }
}

fn one(mut contents: ResourceContents, media_type: Option<&str>) -> ResourceContents {
    contents.mime_type = media_type.map(Into::into);
    contents
}

/// Returns `bytes` in base64 with padding, as images, sounds and blobs hold them.
///
/// ```
/// assert_eq!(mgp_server_sdk::base64(b"hello"), "aGVsbG8=");
/// ```
pub fn base64(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}
