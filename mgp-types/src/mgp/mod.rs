//! stub
#![allow(missing_docs)]
use crate::RawJson;
pub mod code {
    pub const PARSE_ERROR: i64 = -32700; pub const INVALID_REQUEST: i64 = -32600; pub const METHOD_NOT_FOUND: i64 = -32601;
    pub const INVALID_PARAMS: i64 = -32602; pub const INTERNAL_ERROR: i64 = -32603; pub const HEADER_MISMATCH: i64 = -32020;
    pub const MISSING_CLIENT_CAPABILITY: i64 = -32021; pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
    pub const UPSTREAM_UNAVAILABLE: i64 = 5002; pub const UPSTREAM_ERROR: i64 = 5000; pub const TIMEOUT: i64 = 3003;
    pub const RESOURCE_EXHAUSTED: i64 = 3001;
}
#[derive(Debug, Clone)] pub struct Recovery;
impl Recovery { pub fn from_error_data(_: &RawJson) -> Option<Self> { None } pub fn into_error_data(&self, d: Option<&RawJson>) -> RawJson { d.cloned().unwrap_or_else(RawJson::null) } }
#[derive(Debug, Clone)] pub struct Negotiated;
