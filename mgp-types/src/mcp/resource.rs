//! Resources: what a server lets clients read.

use super::body::{body, builders};
use super::{Annotations, CacheScope, Icon, InputResponses, Meta, ResultType};

body! {
    /// Something that a server lets clients read.
    pub struct Resource {
        /// Where the resource is.
        required uri: String = "uri";
        /// The name for programs.
        required name: String = "name";
        /// The name for people.
        optional title: String = "title" [since V2025_06_18];
        /// What the resource holds.
        optional description: String = "description";
        /// The media type.
        optional mime_type: String = "mimeType";
        /// The size in bytes, before any encoding.
        optional size: i64 = "size";
        /// Images for a user interface.
        optional icons: Vec<Icon> = "icons" [since V2025_11_25];
        /// Hints about how to use it.
        optional annotations: Box<Annotations> = "annotations";
        /// Metadata.
        optional meta: Meta = "_meta" [since V2025_06_18];
    }
}

builders! {
    Resource {
        with_title: title: String,
        with_description: description: String,
        with_mime_type: mime_type: String,
        with_size: size: i64,
        with_icons: icons: Vec<Icon>,
        with_annotations: annotations: Box<Annotations>,
        with_meta: meta: Meta,
    }
}

body! {
    /// A family of resources whose URIs follow a template.
    pub struct ResourceTemplate {
        /// The template, RFC 6570.
        required uri_template: String = "uriTemplate";
        /// The name for programs.
        required name: String = "name";
        /// The name for people.
        optional title: String = "title" [since V2025_06_18];
        /// What the resources hold.
        optional description: String = "description";
        /// The media type, if all share one.
        optional mime_type: String = "mimeType";
        /// Images for a user interface.
        optional icons: Vec<Icon> = "icons" [since V2025_11_25];
        /// Hints about how to use them.
        optional annotations: Box<Annotations> = "annotations";
        /// Metadata.
        optional meta: Meta = "_meta" [since V2025_06_18];
    }
}

builders! {
    ResourceTemplate {
        with_title: title: String,
        with_description: description: String,
        with_mime_type: mime_type: String,
        with_icons: icons: Vec<Icon>,
        with_annotations: annotations: Box<Annotations>,
        with_meta: meta: Meta,
    }
}

body! {
    /// What a resource or a part of it holds: either text or bytes.
    pub struct ResourceContents {
        /// Where the resource is.
        required uri: String = "uri";
        /// The media type.
        optional mime_type: String = "mimeType";
        /// The text, if it is text.
        optional text: String = "text";
        /// The bytes in base64, if it is not.
        optional blob: String = "blob";
        /// Metadata.
        optional meta: Meta = "_meta" [since V2025_06_18];
    }
}

builders! {
    ResourceContents {
        with_mime_type: mime_type: String,
        with_meta: meta: Meta,
    }
}

impl ResourceContents {
    /// Contents that are text.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::new(uri) }
    }

    /// Contents that are bytes, given in base64.
    pub fn blob(uri: impl Into<String>, blob: impl Into<String>) -> Self {
        Self { blob: Some(blob.into()), ..Self::new(uri) }
    }
}

body! {
    /// The params of `resources/list`.
    pub struct ListResourcesParams {
        /// Metadata.
        optional meta: Meta = "_meta";
        /// Where to go on.
        optional cursor: String = "cursor";
    }
}

body! {
    /// The result of `resources/list`.
    pub struct ListResourcesResult {
        /// How to read the result.
        optional result_type: ResultType = "resultType" [since V2026_07_28, or ResultType::Complete];
        /// The resources of this page.
        required resources: Vec<Resource> = "resources";
        /// Where the next page starts; absent on the last one.
        optional next_cursor: String = "nextCursor";
        /// For how many milliseconds the result stays fresh.
        optional ttl_ms: i64 = "ttlMs" [since V2026_07_28, or 0];
        /// Who may share the result.
        optional cache_scope: CacheScope = "cacheScope" [since V2026_07_28, or CacheScope::Private];
        /// Metadata.
        optional meta: Meta = "_meta";
    }
}

body! {
    /// The params of `resources/templates/list`.
    pub struct ListResourceTemplatesParams {
        /// Metadata.
        optional meta: Meta = "_meta";
        /// Where to go on.
        optional cursor: String = "cursor";
    }
}

body! {
    /// The result of `resources/templates/list`.
    pub struct ListResourceTemplatesResult {
        /// How to read the result.
        optional result_type: ResultType = "resultType" [since V2026_07_28, or ResultType::Complete];
        /// The templates of this page.
        required resource_templates: Vec<ResourceTemplate> = "resourceTemplates";
        /// Where the next page starts; absent on the last one.
        optional next_cursor: String = "nextCursor";
        /// For how many milliseconds the result stays fresh.
        optional ttl_ms: i64 = "ttlMs" [since V2026_07_28, or 0];
        /// Who may share the result.
        optional cache_scope: CacheScope = "cacheScope" [since V2026_07_28, or CacheScope::Private];
        /// Metadata.
        optional meta: Meta = "_meta";
    }
}

body! {
    /// The params of `resources/read`.
    pub struct ReadResourceParams {
        /// Metadata.
        optional meta: Meta = "_meta";
        /// Where the resource is.
        required uri: String = "uri";
        /// The answers to the input requests of the result before.
        optional input_responses: InputResponses = "inputResponses" [since V2026_07_28];
        /// The state of the result before, unchanged.
        optional request_state: String = "requestState" [since V2026_07_28];
    }
}

body! {
    /// The result of `resources/read`.
    pub struct ReadResourceResult {
        /// How to read the result.
        optional result_type: ResultType = "resultType" [since V2026_07_28, or ResultType::Complete];
        /// The contents of the resource or, of a directory, its parts.
        required contents: Vec<ResourceContents> = "contents";
        /// For how many milliseconds the result stays fresh.
        optional ttl_ms: i64 = "ttlMs" [since V2026_07_28, or 0];
        /// Who may share the result.
        optional cache_scope: CacheScope = "cacheScope" [since V2026_07_28, or CacheScope::Private];
        /// Metadata.
        optional meta: Meta = "_meta";
    }
}

body! {
    /// The params of `resources/subscribe`.
    pub struct SubscribeParams {
        /// Metadata.
        optional meta: Meta = "_meta";
        /// The resource whose changes are wanted.
        required uri: String = "uri";
    }
}

body! {
    /// The params of `resources/unsubscribe`.
    pub struct UnsubscribeParams {
        /// Metadata.
        optional meta: Meta = "_meta";
        /// The resource whose changes are no longer wanted.
        required uri: String = "uri";
    }
}

body! {
    /// The params of `notifications/resources/list_changed`.
    pub struct ResourceListChangedParams {
        /// Metadata.
        optional meta: Meta = "_meta";
    }
}

body! {
    /// The params of `notifications/resources/updated`.
    pub struct ResourceUpdatedParams {
        /// Metadata.
        optional meta: Meta = "_meta";
        /// The resource that changed; may be a part of the one subscribed to.
        required uri: String = "uri";
    }
}

body! {
    /// The `data` of the error that a resource does not exist.
    pub struct ResourceNotFound {
        /// The resource that was asked for.
        required uri: String = "uri";
    }
}
