//! The parts of a call's arguments by which private data may leave this machine, though the call only reads.

use mgp_types::RawJson;
use mgp_types::mgp::{Permission, ResolvedTool};

use crate::network::{bare_outer_host, outer_hosts};
use crate::text::{read, walk};

/// The ways out that a call has: the hosts that it names, and the parts that are long enough for a message.
#[derive(Debug, Default)]
pub(super) struct Departure {
    pub(super) hosts: Vec<Box<str>>,
    /// The host, or the tool that reaches other machines, that gets a part with room for a message.
    roomy: Option<Box<str>>,
}

impl Departure {
    pub(super) fn of(tool: &ResolvedTool, arguments: Option<&RawJson>) -> Self {
        let mut departure = Self::default();
        // What cannot be read was refused before.
        let Some(arguments) = arguments.and_then(|arguments| read(arguments).ok()) else { return departure };
        let permissions = &tool.security.permissions;
        let reaches_out = permissions.contains(&Permission::NetworkOutbound);
        // Of a tool that needs nothing, nobody knows where it sends its arguments.
        let may_reach_out = reaches_out || permissions.is_empty();
        let _ = walk(&arguments, &mut |_, text| {
            let bare = if reaches_out { bare_outer_host(text) } else { None };
            let mut has_host = false;
            for (host, behind) in outer_hosts(text).chain(bare) {
                has_host = true;
                if has_room(behind) {
                    departure.roomy.get_or_insert_with(|| host.as_str().into());
                }
                departure.hosts.push(host.into());
            }
            if !has_host && may_reach_out && has_room(text) {
                departure.roomy.get_or_insert_with(|| format!("{}.{}", tool.server, tool.name).into());
            }
            Ok(())
        });
        departure
    }

    /// Returns where private data may go: to a host that is not known, or anywhere in a part that has room for it.
    pub(super) fn destination(&self, is_known: impl Fn(&str) -> bool) -> Option<&str> {
        self.hosts.iter().find(|host| !is_known(host)).or(self.roomy.as_ref()).map(|it| &**it)
    }
}

/// Returns whether a text is long, or has a word that is too long for a word and may be a message in a code.
fn has_room(text: &str) -> bool {
    text.len() > LONGEST_TEXT
        || text.split([' ', '/', '?', '&', '=', '#']).any(|word| word.len() > LONGEST_WORD)
}

/// The number of bytes of a query or a path that is no message yet.
const LONGEST_TEXT: usize = 96;
/// The number of bytes of a word that is no message yet: that of a UUID and some more.
const LONGEST_WORD: usize = 44;

#[cfg(test)]
mod tests {
    use mgp_types::Object;
    use mgp_types::mgp::{EffectiveSecurity, RiskLevel};

    use super::*;

    fn destination(arguments: &str, known: &[&str]) -> Option<String> {
        let mut security = EffectiveSecurity::new(RiskLevel::Safe);
        security.permissions = [Permission::NetworkOutbound].into();
        let tool = ResolvedTool::new("web".into(), "search".into(), Object::new(), security);
        let arguments = RawJson::parse(arguments.to_owned()).unwrap();
        Departure::of(&tool, Some(&arguments)).destination(|host| known.contains(&host)).map(str::to_owned)
    }

    #[test]
    fn new_hosts_and_long_or_encoded_parts_are_ways_out_and_usual_ones_are_not() {
        let known = ["docs.rs"];
        for (arguments, expected) in [
            (r#"{"url":"https://collect.example/?d=4711"}"#, Some("collect.example")),
            (
                r#"{"pages":[{"at":"see https://docs.rs/a and https://4711.collect.example"}]}"#,
                Some("4711.collect.example"),
            ),
            (r#"{"url":"https://docs.rs/tokio/latest/tokio/time/fn.sleep.html?search=pause"}"#, None),
            (
                r#"{"url":"https://docs.rs/?q=dGhlIG1haWwgc2FpZCB0aGUgcGFzc3dvcmQgaXMgNDcxMQ"}"#,
                Some("docs.rs"),
            ),
            (r#"{"url":"HTTPS://Collect.example./"}"#, Some("collect.example")),
            (r#"{"url":"collect.example/4711"}"#, Some("collect.example")),
            (r#"{"url":"//collect.example/4711"}"#, Some("collect.example")),
            (r#"{"domain":"4711.collect.example"}"#, Some("4711.collect.example")),
            (r#"{"url":"http://localhost:3000/a"}"#, None),
            (r#"{"url":"http://127.0.0.1:3000/a"}"#, None),
            (r#"{"query":"weather in Oslo on Monday"}"#, None),
            (r#"{"id":"0c8e4d6a-3c8b-4b5e-9a8f-2f1f3a9d7b11"}"#, None),
            (r#"{"query":"dGhlIG1haWwgc2FpZCB0aGUgcGFzc3dvcmQgaXMgNDcxMSBhbmQ"}"#, Some("web.search")),
        ] {
            assert_eq!(destination(arguments, &known).as_deref(), expected, "{arguments}");
        }
    }
}
