//! Resources: data that a server lets clients read.

#[cfg(feature = "ext")]
mod cache;
mod contents;
mod entry;
mod template;

use std::time::Duration;

use mgp_types::mcp::{self, Annotations, CacheScope, Icon, Meta};
use mgp_types::{CacheHint, RawJson};

#[cfg(feature = "ext")]
pub use self::cache::ResourceCache;
pub use self::contents::{Blob, IntoContents, base64};
pub(crate) use self::entry::{ResourceEntry, TemplateEntry, not_found};
pub use self::entry::{ResourceHandler, Uri};

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

    /// Sets the size in bytes, before any encoding.
    pub fn size(mut self, bytes: i64) -> Self {
        self.wire.size = Some(bytes);
        self
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
