//! Resources: data that a server lets clients read.

use super::body::{body, builders};
use super::{Annotations, CacheScope, Icon, InputResponses, Meta, ResultType};

body! {
    /// A resource that a server lets clients read.
    pub struct Resource {
        /// The URI of the resource.
        required uri: String = "uri";
        /// The name for programs.
        required name: String = "name";
        /// The name for people.
        optional title: String = "title" [since V2025_06_18];
        /// The description of the resource.
        optional description: String = "description";
        /// The media type.
        optional mime_type: String = "mimeType";
        /// The size in bytes, before any encoding.
        optional size: i64 = "size";
        /// Images for a user interface.
        optional icons: Vec<Icon> = "icons" [since V2025_11_25];
        /// Hints about the use of the content.
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
        /// The description of the resources.
        optional description: String = "description";
        /// The media type, if all share one.
        optional mime_type: String = "mimeType";
        /// Images for a user interface.
        optional icons: Vec<Icon> = "icons" [since V2025_11_25];
        /// Hints about the use of the resources.
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
    /// The contents of a resource or a part of it: either text or bytes.
    pub struct ResourceContents {
        /// The URI of the resource.
        required uri: String = "uri";
        /// The media type.
        optional mime_type: String = "mimeType";
        /// The text of a resource that is text.
        optional text: String = "text";
        /// The bytes of any other resource, in base64.
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
    /// Creates contents that are text.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::new(uri) }
    }

    /// Creates contents that are bytes, given in base64.
    pub fn blob(uri: impl Into<String>, blob: impl Into<String>) -> Self {
        Self { blob: Some(blob.into()), ..Self::new(uri) }
    }
}

body! {
    /// The params of `resources/list`.
    pub struct ListResourcesParams {
        /// Metadata.
        optional meta: Meta = "_meta";
        /// The cursor of the wanted page; absent for the first one.
        optional cursor: String = "cursor";
    }
}

builders! {
    ListResourcesParams {
        with_meta: meta: Meta,
        with_cursor: cursor: String,
    }
}

body! {
    /// The result of `resources/list`.
    pub struct ListResourcesResult {
        /// The kind of result; absent means complete.
        optional result_type: ResultType = "resultType" [since V2026_07_28, or ResultType::Complete];
        /// The resources of this page.
        required resources: Vec<Resource> = "resources";
        /// The cursor of the next page; absent on the last one.
        optional next_cursor: String = "nextCursor";
        /// The time in milliseconds for which the result stays fresh.
        optional ttl_ms: i64 = "ttlMs" [since V2026_07_28, or 0];
        /// The audience that may share the cached result.
        optional cache_scope: CacheScope = "cacheScope" [since V2026_07_28, or CacheScope::Private];
        /// Metadata.
        optional meta: Meta = "_meta";
    }
}

builders! {
    ListResourcesResult {
        with_next_cursor: next_cursor: String,
        with_ttl_ms: ttl_ms: i64,
        with_cache_scope: cache_scope: CacheScope,
        with_meta: meta: Meta,
    }
}

body! {
    /// The params of `resources/templates/list`.
    pub struct ListResourceTemplatesParams {
        /// Metadata.
        optional meta: Meta = "_meta";
        /// The cursor of the wanted page; absent for the first one.
        optional cursor: String = "cursor";
    }
}

builders! {
    ListResourceTemplatesParams {
        with_meta: meta: Meta,
        with_cursor: cursor: String,
    }
}

body! {
    /// The result of `resources/templates/list`.
    pub struct ListResourceTemplatesResult {
        /// The kind of result; absent means complete.
        optional result_type: ResultType = "resultType" [since V2026_07_28, or ResultType::Complete];
        /// The templates of this page.
        required resource_templates: Vec<ResourceTemplate> = "resourceTemplates";
        /// The cursor of the next page; absent on the last one.
        optional next_cursor: String = "nextCursor";
        /// The time in milliseconds for which the result stays fresh.
        optional ttl_ms: i64 = "ttlMs" [since V2026_07_28, or 0];
        /// The audience that may share the cached result.
        optional cache_scope: CacheScope = "cacheScope" [since V2026_07_28, or CacheScope::Private];
        /// Metadata.
        optional meta: Meta = "_meta";
    }
}

builders! {
    ListResourceTemplatesResult {
        with_next_cursor: next_cursor: String,
        with_ttl_ms: ttl_ms: i64,
        with_cache_scope: cache_scope: CacheScope,
        with_meta: meta: Meta,
    }
}

body! {
    /// The params of `resources/read`.
    pub struct ReadResourceParams {
        /// Metadata.
        optional meta: Meta = "_meta";
        /// The URI of the resource.
        required uri: String = "uri";
        /// The answers to the input requests of the result before.
        optional input_responses: InputResponses = "inputResponses" [since V2026_07_28];
        /// The state of the result before, unchanged.
        optional request_state: String = "requestState" [since V2026_07_28];
    }
}

builders! {
    ReadResourceParams {
        with_meta: meta: Meta,
        with_input_responses: input_responses: InputResponses,
        with_request_state: request_state: String,
    }
}

body! {
    /// The result of `resources/read`.
    pub struct ReadResourceResult {
        /// The kind of result; absent means complete.
        optional result_type: ResultType = "resultType" [since V2026_07_28, or ResultType::Complete];
        /// The contents of the resource; for a directory, the contents of its parts.
        required contents: Vec<ResourceContents> = "contents";
        /// The time in milliseconds for which the result stays fresh.
        optional ttl_ms: i64 = "ttlMs" [since V2026_07_28, or 0];
        /// The audience that may share the cached result.
        optional cache_scope: CacheScope = "cacheScope" [since V2026_07_28, or CacheScope::Private];
        /// Metadata.
        optional meta: Meta = "_meta";
    }
}

builders! {
    ReadResourceResult {
        with_ttl_ms: ttl_ms: i64,
        with_cache_scope: cache_scope: CacheScope,
        with_meta: meta: Meta,
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
        /// The resource that changed; it may be a part of the subscribed one.
        required uri: String = "uri";
    }
}

body! {
    /// The `data` of the error for a resource that does not exist.
    pub struct ResourceNotFound {
        /// The resource that was asked for.
        required uri: String = "uri";
    }
}
