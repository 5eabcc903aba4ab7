//! What `_meta` says about the revision of a request, remembered while it stays the same.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use mgp_types::mcp::meta::key;
use mgp_types::{Object, Params, Revision};

/// The version that `_meta` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BodyVersion {
    Absent,
    /// A revision we know; `complete` if what it requires of `_meta` is there.
    Known {
        revision: Revision,
        complete: bool,
    },
    Unknown(Box<str>),
}

/// Reads `_meta` of one request after the other. Clients repeat themselves, so the last one is kept.
#[derive(Debug, Default)]
pub(super) struct Envelopes {
    last: ArcSwapOption<(Bytes, BodyVersion)>,
}

impl Envelopes {
    pub(super) fn version(&self, params: &Params) -> BodyVersion {
        let Some(meta) = params.bytes("_meta") else { return BodyVersion::Absent };
        if let Some(last) = &*self.last.load()
            && last.0 == meta
        {
            return last.1.clone();
        }
        let meta = Bytes::copy_from_slice(meta);
        let version = read(&meta);
        if meta.len() <= MAX_REMEMBERED && version != BodyVersion::Absent {
            self.last.store(Some(Arc::new((meta, version.clone()))));
        }
        version
    }
}

fn read(meta: &Bytes) -> BodyVersion {
    let Ok(meta) = Object::parse(meta.clone()) else { return BodyVersion::Absent };
    let Some(value) = meta.bytes(key::PROTOCOL_VERSION) else { return BodyVersion::Absent };
    let Some(name) = meta.text(key::PROTOCOL_VERSION) else {
        return BodyVersion::Unknown(String::from_utf8_lossy(value).into());
    };
    match name.parse::<Revision>() {
        Ok(revision) => {
            let complete = meta.bytes(key::CLIENT_CAPABILITIES).is_some_and(|value| value.starts_with(b"{"));
            BodyVersion::Known { revision, complete }
        }
        Err(_) => BodyVersion::Unknown(name.into()),
    }
}

const MAX_REMEMBERED: usize = 4 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_anew_when_meta_changes() {
        let envelopes = Envelopes::default();
        let version = |json: &str| envelopes.version(&Params::parse(json.to_owned()).unwrap());
        let known = |revision, complete| BodyVersion::Known { revision, complete };
        assert_eq!(version("{}"), BodyVersion::Absent);
        assert_eq!(version(r#"{"_meta":{"progressToken":1}}"#), BodyVersion::Absent);
        let modern = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#;
        for _ in 0..2 {
            assert_eq!(version(modern), known(Revision::V2026_07_28, true));
        }
        let bare = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
        assert_eq!(version(bare), known(Revision::V2026_07_28, false));
        let other = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"v999"}}"#;
        assert_eq!(version(other), BodyVersion::Unknown("v999".into()));
        let wrong = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":1}}"#;
        assert_eq!(version(wrong), BodyVersion::Unknown("1".into()));
    }
}
