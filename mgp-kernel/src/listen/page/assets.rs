//! The stylesheet and the script of the page, under names that change with them, so that browsers keep them.

use std::sync::LazyLock;

use bytes::Bytes;
use http::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use mgp_transport::http::HttpBody;
use sha2::{Digest as _, Sha256};

/// A file that each page names.
pub(super) struct Asset {
    pub(super) path: String,
    kind: &'static str,
    bytes: &'static [u8],
}

pub(super) static STYLE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("css", "text/css; charset=utf-8", include_bytes!("assets/page.css")));
pub(super) static SCRIPT: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("js", "text/javascript; charset=utf-8", include_bytes!("assets/page.js")));

impl Asset {
    fn new(ending: &str, kind: &'static str, bytes: &'static [u8]) -> Self {
        let digest = Sha256::digest(bytes);
        let [a, b, c, d] = [digest[0], digest[1], digest[2], digest[3]];
        Self { path: format!("/assets/page-{a:02x}{b:02x}{c:02x}{d:02x}.{ending}"), kind, bytes }
    }
}

/// Returns the file at a path.
pub(super) fn at(path: &str) -> Option<Response<HttpBody>> {
    let asset = [&*STYLE, &*SCRIPT].into_iter().find(|asset| asset.path == path)?;
    let kept = "public, max-age=31536000, immutable";
    let response = Response::builder().header(CONTENT_TYPE, asset.kind).header(CACHE_CONTROL, kept);
    response.body(Bytes::from_static(asset.bytes).into()).ok()
}
