//! The revision that `_meta` names for a request, remembered while it stays the same.

use bytes::Bytes;
use mgp_types::mcp::meta::key;
use mgp_types::{Object, Params, Revision};

use crate::small_cache::{MAX_KEPT, SmallCache};

/// The version that `_meta` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BodyVersion {
    Absent,
    /// A revision of MCP; `complete` if `_meta` has the members that the revision requires.
    Known {
        revision: Revision,
        complete: bool,
    },
    Unknown(Box<str>),
}

/// Reads the `_meta` of one request after the other. Clients repeat themselves, so some of the last results are kept.
#[derive(Debug, Default)]
pub(super) struct Envelopes {
    read: SmallCache<(Bytes, BodyVersion)>,
}

impl Envelopes {
    pub(super) fn version(&self, params: &Params) -> BodyVersion {
        let Some(meta) = params.bytes("_meta") else { return BodyVersion::Absent };
        if let Some((of, version)) = self.read.get(meta).as_deref()
            && of == meta
        {
            return version.clone();
        }
        let meta = Bytes::copy_from_slice(meta);
        let version = read(&meta);
        if meta.len() <= MAX_KEPT && version != BodyVersion::Absent {
            self.read.put(&meta, (meta.clone(), version.clone()));
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

    #[test]
    fn two_clients_by_turns_are_both_remembered() {
        let envelopes = Envelopes::default();
        let params = |name: &str| {
            let meta = format!(r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{name}"}}}}"#);
            Params::parse(meta).unwrap()
        };
        let both = ["2026-07-28", "v999"].map(params);
        for params in &both {
            envelopes.version(params);
        }
        for params in &both {
            let meta = params.bytes("_meta").unwrap();
            assert_eq!(envelopes.read.get(meta).as_ref().unwrap().0, meta);
        }
    }
}
