//! Documents that describe all tools of a server: the tool catalog, the OpenAPI document and the service manifest.

mod manifest;
mod openapi;
mod tool_list;

pub use self::manifest::{ManifestFacts, manifest};
pub use self::openapi::openapi;
pub use self::tool_list::{ListedTool, TOOL_LIST_VERSION, tool_list};
