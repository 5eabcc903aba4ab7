//! Resources: data that a server lets clients read.

use super::body::{body, pages};
use super::{Annotations, CacheScope, Icon, InputResponses, ResultType};

body! {
    /// A resource that a server lets clients read.
    pub struct Resource and meta [since V2025_06_18] => with_meta {
        /// The URI of the resource.
        required uri: String = "uri";
        /// The name for programs.
        required name: String = "name";
        /// The name for people.
        optional title: String = "title" [since V2025_06_18] => with_title;
        /// The description of the resource.
        optional description: String = "description" => with_description;
        /// The media type.
        optional mime_type: String = "mimeType" => with_mime_type;
        /// The size in bytes, before any encoding.
        optional size: i64 = "size" => with_size;
        /// Images for a user interface.
        optional icons: Vec<Icon> = "icons" [since V2025_11_25] => with_icons;
        /// Hints about the use of the content.
        optional annotations: Box<Annotations> = "annotations" => with_annotations;
    }

    /// A family of resources whose URIs follow a template.
    pub struct ResourceTemplate and meta [since V2025_06_18] => with_meta {
        /// The template, RFC 6570.
        required uri_template: String = "uriTemplate";
        /// The name for programs.
        required name: String = "name";
        /// The name for people.
        optional title: String = "title" [since V2025_06_18] => with_title;
        /// The description of the resources.
        optional description: String = "description" => with_description;
        /// The media type, if all share one.
        optional mime_type: String = "mimeType" => with_mime_type;
        /// Images for a user interface.
        optional icons: Vec<Icon> = "icons" [since V2025_11_25] => with_icons;
        /// Hints about the use of the resources.
        optional annotations: Box<Annotations> = "annotations" => with_annotations;
    }

    /// The contents of a resource or a part of it: either text or bytes.
    pub struct ResourceContents and meta [since V2025_06_18] => with_meta {
        /// The URI of the resource.
        required uri: String = "uri";
        /// The media type.
        optional mime_type: String = "mimeType" => with_mime_type;
        /// The text of a resource that is text.
        optional text: String = "text";
        /// The bytes of any other resource, in base64.
        optional blob: String = "blob";
    }

    /// The params of `resources/read`.
    pub struct ReadResourceParams with meta => with_meta {
        /// The URI of the resource.
        required uri: String = "uri";
        /// The answers to the input requests of the result before.
        optional input_responses: InputResponses = "inputResponses" [since V2026_07_28]
            => with_input_responses;
        /// The state of the result before, unchanged.
        optional request_state: String = "requestState" [since V2026_07_28] => with_request_state;
    }

    /// The result of `resources/read`.
    pub struct ReadResourceResult and meta => with_meta {
        /// The kind of result; absent means complete.
        optional result_type: ResultType = "resultType" [since V2026_07_28, or ResultType::Complete];
        /// The contents of the resource; for a directory, the contents of its parts.
        required contents: Vec<ResourceContents> = "contents";
        /// The time in milliseconds for which the result stays fresh.
        optional ttl_ms: i64 = "ttlMs" [since V2026_07_28, or 0] => with_ttl_ms;
        /// The audience that may share the cached result.
        optional cache_scope: CacheScope = "cacheScope" [since V2026_07_28, or CacheScope::Private]
            => with_cache_scope;
    }

    /// The params of `resources/subscribe`.
    pub struct SubscribeParams with meta {
        /// The resource whose changes are wanted.
        required uri: String = "uri";
    }

    /// The params of `resources/unsubscribe`.
    pub struct UnsubscribeParams with meta {
        /// The resource whose changes are no longer wanted.
        required uri: String = "uri";
    }

    /// The params of `notifications/resources/list_changed`.
    pub struct ResourceListChangedParams with meta {}

    /// The params of `notifications/resources/updated`.
    pub struct ResourceUpdatedParams with meta {
        /// The resource that changed; it may be a part of the subscribed one.
        required uri: String = "uri";
    }

    /// The `data` of the error for a resource that does not exist.
    pub struct ResourceNotFound {
        /// The resource that was asked for.
        required uri: String = "uri";
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

pages! {
    "resources/list": ListResourcesParams, ListResourcesResult,
    /// The resources of this page.
    resources: Vec<Resource> = "resources"
}

pages! {
    "resources/templates/list": ListResourceTemplatesParams, ListResourceTemplatesResult,
    /// The templates of this page.
    resource_templates: Vec<ResourceTemplate> = "resourceTemplates"
}
