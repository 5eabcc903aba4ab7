//! How two peers meet: `initialize`, `server/discover`, `ping`.

use super::body::{body, builders};
use super::open_enum::open_enum;
use super::{CacheScope, ClientCapabilities, Meta, ResultType, ServerCapabilities};

open_enum! {
    /// The theme that an icon is made for.
    pub enum IconTheme {
        /// A light background.
        Light = "light",
        /// A dark background.
        Dark = "dark",
    }
}

body! {
    /// An image that stands for something in a user interface.
    pub struct Icon {
        /// Where the image is: an `https:` or `data:` URI.
        required src: String = "src";
        /// The media type, if the source does not tell it.
        optional mime_type: String = "mimeType";
        /// The sizes that the image suits, such as `48x48` or `any`.
        optional sizes: Vec<String> = "sizes";
        /// The theme that the image is made for.
        optional theme: IconTheme = "theme";
    }
}

body! {
    /// The name and version of a client or server.
    pub struct Implementation {
        /// The name for programs.
        required name: String = "name";
        /// The name for people.
        optional title: String = "title" [since V2025_06_18];
        /// The version.
        required version: String = "version";
        /// What the implementation does.
        optional description: String = "description" [since V2025_11_25];
        /// The page of the implementation.
        optional website_url: String = "websiteUrl" [since V2025_11_25];
        /// Images for a user interface.
        optional icons: Vec<Icon> = "icons" [since V2025_11_25];
    }
}

builders! {
    Implementation {
        with_title: title: String,
        with_description: description: String,
        with_website_url: website_url: String,
        with_icons: icons: Vec<Icon>,
    }
}

body! {
    /// The params of `initialize`.
    pub struct InitializeParams {
        /// Metadata.
        optional meta: Meta = "_meta";
        /// The newest revision that the client supports.
        required protocol_version: String = "protocolVersion";
        /// What the client can do.
        required capabilities: ClientCapabilities = "capabilities";
        /// Who the client is.
        required client_info: Implementation = "clientInfo";
    }
}

body! {
    /// The result of `initialize`.
    pub struct InitializeResult {
        /// The revision that the session speaks.
        required protocol_version: String = "protocolVersion";
        /// What the server can do.
        required capabilities: ServerCapabilities = "capabilities";
        /// Who the server is.
        required server_info: Implementation = "serverInfo";
        /// How to use the server, for a model.
        optional instructions: String = "instructions";
        /// Metadata.
        optional meta: Meta = "_meta";
    }
}

builders! {
    InitializeResult {
        with_instructions: instructions: String,
    }
}

body! {
    /// The params of `notifications/initialized`.
    pub struct InitializedParams {
        /// Metadata.
        optional meta: Meta = "_meta";
    }
}

body! {
    /// The params of `ping`.
    pub struct PingParams {
        /// Metadata.
        optional meta: Meta = "_meta";
    }
}

body! {
    /// The params of `server/discover`.
    pub struct DiscoverParams {
        /// Metadata.
        optional meta: Meta = "_meta";
    }
}

body! {
    /// The result of `server/discover`.
    pub struct DiscoverResult {
        /// How to read the result.
        optional result_type: ResultType = "resultType" [since V2026_07_28, or ResultType::Complete];
        /// The revisions that the server supports.
        required supported_versions: Vec<String> = "supportedVersions";
        /// What the server can do.
        required capabilities: ServerCapabilities = "capabilities";
        /// How to use the server, for a model.
        optional instructions: String = "instructions";
        /// For how many milliseconds the result stays fresh.
        optional ttl_ms: i64 = "ttlMs" [since V2026_07_28, or 0];
        /// Who may share the result.
        optional cache_scope: CacheScope = "cacheScope" [since V2026_07_28, or CacheScope::Private];
        /// Metadata.
        optional meta: Meta = "_meta";
    }
}

builders! {
    DiscoverResult {
        with_instructions: instructions: String,
        with_ttl_ms: ttl_ms: i64,
        with_cache_scope: cache_scope: CacheScope,
        with_meta: meta: Meta,
    }
}

body! {
    /// The `data` of the error that refuses a request's revision.
    pub struct UnsupportedProtocolVersion {
        /// The revisions that the server supports.
        required supported: Vec<String> = "supported";
        /// The revision that the request named.
        required requested: String = "requested";
    }
}

body! {
    /// The `data` of the error that refuses a request whose client declared too little.
    pub struct MissingRequiredClientCapability {
        /// What the client has to declare.
        required required_capabilities: ClientCapabilities = "requiredCapabilities";
    }
}
