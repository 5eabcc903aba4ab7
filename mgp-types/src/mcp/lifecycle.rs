//! The messages by which two peers meet: `initialize`, `server/discover`, `ping`.

use super::body::body;
use super::union::open_enum;
use super::{CacheScope, ClientCapabilities, ResultType, ServerCapabilities};

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
        /// The URI of the image, with the scheme `https:` or `data:`.
        required src: String = "src";
        /// The media type, if the source does not name it.
        optional mime_type: String = "mimeType" => with_mime_type;
        /// The sizes that the image suits, such as `48x48` or `any`.
        optional sizes: Vec<String> = "sizes" => with_sizes;
        /// The theme that the image is made for.
        optional theme: IconTheme = "theme" => with_theme;
    }

    /// The name and version of a client or server.
    pub struct Implementation {
        /// The name for programs.
        required name: String = "name";
        /// The name for people.
        optional title: String = "title" [since V2025_06_18] => with_title;
        /// The version.
        required version: String = "version";
        /// The description of the implementation.
        optional description: String = "description" [since V2025_11_25] => with_description;
        /// The page of the implementation.
        optional website_url: String = "websiteUrl" [since V2025_11_25] => with_website_url;
        /// Images for a user interface.
        optional icons: Vec<Icon> = "icons" [since V2025_11_25] => with_icons;
    }

    /// The params of `initialize`.
    pub struct InitializeParams with meta {
        /// The newest revision that the client supports.
        required protocol_version: String = "protocolVersion";
        /// The capabilities of the client.
        required capabilities: ClientCapabilities = "capabilities";
        /// The name and version of the client.
        required client_info: Implementation = "clientInfo";
    }

    /// The result of `initialize`.
    pub struct InitializeResult and meta {
        /// The revision that the session speaks.
        required protocol_version: String = "protocolVersion";
        /// The capabilities of the server.
        required capabilities: ServerCapabilities = "capabilities";
        /// The name and version of the server.
        required server_info: Implementation = "serverInfo";
        /// The instructions for use of the server, for a model.
        optional instructions: String = "instructions" => with_instructions;
    }

    /// The params of `notifications/initialized`.
    pub struct InitializedParams with meta {}

    /// The params of `ping`.
    pub struct PingParams with meta {}

    /// The params of `server/discover`.
    pub struct DiscoverParams with meta {}

    /// The result of `server/discover`.
    pub struct DiscoverResult and meta => with_meta {
        /// The kind of result; absent means complete.
        optional result_type: ResultType = "resultType" [since V2026_07_28, or ResultType::Complete];
        /// The revisions that the server supports.
        required supported_versions: Vec<String> = "supportedVersions";
        /// The capabilities of the server.
        required capabilities: ServerCapabilities = "capabilities";
        /// The instructions for use of the server, for a model.
        optional instructions: String = "instructions" => with_instructions;
        /// The time in milliseconds for which the result stays fresh.
        optional ttl_ms: i64 = "ttlMs" [since V2026_07_28, or 0] => with_ttl_ms;
        /// The audience that may share the cached result.
        optional cache_scope: CacheScope = "cacheScope" [since V2026_07_28, or CacheScope::Private]
            => with_cache_scope;
    }

    /// The `data` of the error for a request whose revision the server does not support.
    pub struct UnsupportedProtocolVersion {
        /// The revisions that the server supports.
        required supported: Vec<String> = "supported";
        /// The revision that the request named.
        required requested: String = "requested";
    }

    /// The `data` of the error for a request whose client declared too few capabilities.
    pub struct MissingRequiredClientCapability {
        /// The capabilities that the client has to declare.
        required required_capabilities: ClientCapabilities = "requiredCapabilities";
    }
}
