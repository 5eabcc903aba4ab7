//! What a caller names and is not offered because its definition is held back.

use mgp_security::definition::{DefinitionKind, server_of};
use mgp_types::mgp::NameStyle;
use mgp_types::{Error, Request};

use super::Sight;
use crate::parts::Parts;

/// Returns why the caller cannot have the tool, prompt or template that it means by `named`, if the definition of one that it
/// may use is held back.
pub(super) fn by_name(
    parts: &Parts,
    sight: &Sight<'_>,
    request: &Request,
    kind: DefinitionKind,
    named: &str,
) -> Option<Error> {
    let definitions = &parts.definitions;
    let held = definitions.held(kind).into_iter().find(|(holder, name)| {
        let own = name.as_str();
        let is_meant = own == named
            || kind != DefinitionKind::Template && {
                let server = server_of(holder);
                let dotted = named.strip_prefix(server).and_then(|rest| rest.strip_prefix(['.', '/']));
                dotted == Some(own) || NameStyle::any_is(named, server, own)
            };
        is_meant && sight.concerns(holder, name)
    });
    let (holder, name) = held?;
    definitions.hold(&holder, &name).map(|hold| hold.refusal(&holder, &name, &request.context))
}

/// Returns why the caller cannot read the resource `uri`, if its definition or that of its template is held back at a server that
/// the caller may use.
pub(super) fn by_uri(parts: &Parts, sight: &Sight<'_>, request: &Request, uri: &str) -> Option<Error> {
    sight.servers().find_map(|upstream| {
        let holder = sight.holder(upstream.id().as_str());
        let (name, hold) = parts.definitions.hold_of_uri(&holder, uri)?;
        sight.concerns(&holder, &name).then(|| hold.refusal(&holder, &name, &request.context))
    })
}
