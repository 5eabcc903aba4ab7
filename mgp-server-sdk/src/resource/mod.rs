//! Resources: data that a server lets clients read.

#[cfg(feature = "ext")]
mod cache;
mod entry;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use mgp_types::mcp::{self, Annotations, CacheScope, Icon, Meta, ResourceContents};
use mgp_types::{CacheHint, Error, RawJson};
use percent_encoding::percent_decode_str;

#[cfg(feature = "ext")]
pub use self::cache::ResourceCache;
pub(crate) use self::entry::{ResourceEntry, TemplateEntry, not_found};
pub use self::entry::{ResourceHandler, Uri};
use crate::tool::ToolError;

/// The description of a resource with a fixed URI.
#[derive(Debug, Clone)]
#[must_use = "a resource does nothing until it is registered"]
pub struct Resource {
    wire: mcp::Resource,
    kept: KeptContents,
}

/// The description of a family of resources, whose URIs follow a template of RFC 6570, level 1.
///
/// A variable like `{id}` stands for one or more characters other than `/`, `?` and `#`.
#[derive(Debug, Clone)]
#[must_use = "a template does nothing until it is registered"]
pub struct ResourceTemplate {
    wire: mcp::ResourceTemplate,
    kept: KeptContents,
}

/// The scope and the time in which contents stay cached.
#[derive(Debug, Clone, Default)]
struct KeptContents {
    hint: Option<CacheHint>,
    #[cfg(feature = "ext")]
    cached_in: Option<ResourceCache>,
}

impl Resource {
    /// Creates a resource at `uri`.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self { wire: mcp::Resource::new(uri, name), kept: KeptContents::default() }
    }

    mgp_types::setters! { self =>
        /// Sets the size in bytes, before any encoding.
        pub fn size(bytes: i64) => self.wire.size = Some(bytes);
    }
}

impl ResourceTemplate {
    /// Creates a family of resources at the URIs of `template`.
    pub fn new(template: impl Into<String>, name: impl Into<String>) -> Self {
        Self { wire: mcp::ResourceTemplate::new(template, name), kept: KeptContents::default() }
    }
}

macro_rules! common {
    ($($name:ident)+) => {
        $(impl $name {
            mgp_types::setters! { self =>
                /// Sets the name for people.
                pub fn title(title: impl Into<String>) => self.wire.title = Some(title.into());

                /// Sets the description for a model.
                pub fn description(description: impl Into<String>) =>
                    self.wire.description = Some(description.into());

                /// Sets the media type.
                pub fn media_type(media_type: impl Into<String>) =>
                    self.wire.mime_type = Some(media_type.into());

                /// Adds an image for a user interface.
                pub fn icon(icon: Icon) => self.wire.icons.get_or_insert_default().push(icon);

                /// Sets hints about the use of the contents.
                pub fn annotations(annotations: Annotations) =>
                    self.wire.annotations = Some(Box::new(annotations));

                /// Adds metadata that clients get in the list.
                pub fn meta(key: impl Into<Box<str>>, value: RawJson) =>
                    self.wire.meta.get_or_insert_with(Meta::new).insert(key, value);

                /// Caches the contents in this server too, for the time and the audience of [`cache`](Self::cache).
                /// They have to depend on the URI alone, and on the principal if they are private.
                #[cfg(feature = "ext")]
                pub fn cached_in(cache: &ResourceCache) => self.kept.cached_in = Some(cache.clone());

                /// Sets how long the contents may be cached, and by which audience. Default: not at all.
                pub fn cache(time: Duration, scope: CacheScope) => self.kept.hint = Some(hint(time, scope));
            }
        })+
    };
}

common!(Resource ResourceTemplate);

/// Returns the hint that something may be cached for this time, by this audience.
pub(crate) fn hint(time: Duration, scope: CacheScope) -> CacheHint {
    CacheHint { ttl_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX), scope }
}

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

macro_rules! contents_of {
    ($([$($generics:tt)*] $type:ty: |$own:ident, $uri:ident, $media_type:ident| $contents:expr;)+) => {
        $(impl<$($generics)*> IntoContents for $type {
            fn into_contents(self, $uri: &str, $media_type: Option<&str>) -> ReadContents {
                let $own = self;
                Ok(Some($contents))
            }
        })+
    };
}

contents_of! {
    [] String: |text, uri, media_type| one(ResourceContents::text(uri, text), media_type);
    [] &'static str: |text, uri, media_type| one(ResourceContents::text(uri, text), media_type);
    [] Cow<'static, str>: |text, uri, media_type| one(ResourceContents::text(uri, text), media_type);
    [] Vec<u8>: |bytes, uri, media_type| one(ResourceContents::blob(uri, base64(bytes)), media_type);
    [] Bytes: |bytes, uri, media_type| one(ResourceContents::blob(uri, base64(bytes)), media_type);
    [] &'static [u8]: |bytes, uri, media_type| one(ResourceContents::blob(uri, base64(bytes)), media_type);
    [B: AsRef<[u8]>] Blob<B>: |bytes, uri, media_type| {
        one(ResourceContents::blob(uri, base64(bytes.0)), media_type)
    };
    [] ResourceContents: |contents, _uri, _media_type| vec![contents];
    [] Vec<ResourceContents>: |contents, _uri, _media_type| contents;
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

fn one(mut contents: ResourceContents, media_type: Option<&str>) -> Vec<ResourceContents> {
    contents.mime_type = media_type.map(Into::into);
    vec![contents]
}

/// Returns `bytes` in base64 with padding, as images, sounds and blobs hold them.
///
/// ```
/// assert_eq!(mgp_server_sdk::base64(b"hello"), "aGVsbG8=");
/// ```
pub fn base64(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

/// A URI template of RFC 6570, level 1: text with variables like `{id}`.
///
/// A variable stands for one or more characters other than `/`, `?` and `#`, percent-encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParsedTemplate {
    /// The text in front of each variable.
    pieces: Vec<Piece>,
    /// The text behind the last variable.
    rest: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    text: String,
    variable: Arc<str>,
}

impl ParsedTemplate {
    /// Reads a template.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('{') {
            let (variable, behind) = behind.split_once('}').ok_or("a `{` is not closed")?;
            let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
            if variable.is_empty() || !variable.bytes().all(legal) {
                return Err(format!("`{{{variable}}}` is not a variable of RFC 6570 level 1"));
            }
            if pieces.iter().any(|piece| *piece.variable == *variable) {
                return Err(format!("the variable `{variable}` occurs twice"));
            }
            if before.is_empty() && !pieces.is_empty() {
                return Err(format!("nothing tells where `{variable}` begins"));
            }
            pieces.push(Piece { text: before.into(), variable: variable.into() });
            rest = behind;
        }
        if rest.contains('}') {
            return Err("a `}` has no `{`".into());
        }
        Ok(Self { pieces, rest: rest.into() })
    }

    /// Returns whether there is a variable of this name.
    pub(crate) fn has_variable(&self, name: &str) -> bool {
        self.pieces.iter().any(|piece| &*piece.variable == name)
    }

    /// Returns the variables and their values in `uri`, in order; `None` if the URI does not match.
    pub(crate) fn matched(&self, uri: &str) -> Option<Vec<(Arc<str>, String)>> {
        let mut values = Vec::with_capacity(self.pieces.len());
        let mut at = uri;
        for (index, piece) in self.pieces.iter().enumerate() {
            at = at.strip_prefix(&*piece.text)?;
            let next = self.pieces.get(index + 1).map_or(&*self.rest, |next| &*next.text);
            let reach = at.find(['/', '?', '#']).unwrap_or(at.len());
            let end = if index + 1 == self.pieces.len() {
                // The last variable reaches as far as the text behind it allows.
                at.strip_suffix(next)?.len()
            } else {
                at.find(next)?
            };
            if end == 0 || end > reach {
                return None;
            }
            values.push((piece.variable.clone(), decode(&at[..end])?.into_owned()));
            at = &at[end..];
        }
        (at == self.rest).then_some(values)
    }
}

/// Decodes the percent-encoding; `None` where two digits do not follow a `%`, or bytes are not UTF-8.
fn decode(text: &str) -> Option<Cow<'_, str>> {
    let is_byte = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    let mut behind = text.split('%').skip(1);
    let is_encoded = behind.all(|part| part.as_bytes().get(..2).is_some_and(is_byte));
    is_encoded.then(|| percent_decode_str(text).decode_utf8().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(template: &str, uri: &str) -> Option<Vec<String>> {
        let matched = ParsedTemplate::parse(template).unwrap().matched(uri);
        matched.map(|values| values.into_iter().map(|(_, value)| value).collect())
    }

    #[test]
    fn variables_take_what_stands_in_their_place() {
        assert_eq!(matched("test://template/{id}/data", "test://template/123/data").unwrap(), ["123"]);
        assert_eq!(matched("a://{x}/{y}", "a://1/2").unwrap(), ["1", "2"]);
        assert_eq!(matched("a://{x}-{y}", "a://1-2-3").unwrap(), ["1", "2-3"]);
        assert_eq!(matched("a://{x}", "a://b%20c%2Fd").unwrap(), ["b c/d"]);
    }

    #[test]
    fn other_uris_do_not_match() {
        for uri in
            ["test://template//data", "test://template/1/2/data", "test://template/1", "x", "", "a://%zz"]
        {
            assert_eq!(matched("test://template/{id}/data", uri), None, "{uri}");
        }
        assert_eq!(matched("a://{x}", "a://%zz"), None);
        assert_eq!(matched("a://{x}", "a://1?q"), None);
        assert_eq!(matched("a://b", "a://b").unwrap(), [""; 0]);
        assert_eq!(matched("a://b", "a://bc"), None);
    }

    #[test]
    fn templates_beyond_level_1_are_refused() {
        for template in ["a://{+x}", "a://{x", "a://x}", "a://{}", "a://{x}{y}", "a://{x}/{x}", "a://{x,y}"] {
            assert!(ParsedTemplate::parse(template).is_err(), "{template}");
        }
    }
}
