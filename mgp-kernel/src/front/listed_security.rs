//! The gate that keeps the declarations of §4 from clients that did not ask for them.

use memchr::memmem;
use mgp_types::mgp::{EXTENSION_ID, Extension, ToolSecurity};
use mgp_types::{Error, Flow, Gate, Method, Object, RawJson, Request, RequestKind, Response};

use crate::call::take_from_meta;

/// A gate that takes what servers declare of the security of their tools (§4.2) out of the lists of clients that have
/// not negotiated `security`: for them a list is one of MCP.
///
/// A member `security` without `risk_level` is none of MGP's, and stays. Sits around all that lists tools. A list in
/// which no server declares anything costs one search through its bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListedSecurityGate;

impl Gate for ListedSecurityGate {
    /// True if the request asks for a list in which MGP has no place.
    type Pass = bool;

    fn enter(&self, request: &mut Request) -> Flow<bool> {
        let is_list = request.kind == RequestKind::Call && request.method == Method::TOOLS_LIST;
        let session = request.context.session.as_ref();
        Flow::Pass(is_list && !session.is_some_and(|session| session.has(&Extension::ToolSecurity)))
    }

    fn leave(&self, is_plain: bool, outcome: &mut Result<Response, Error>) {
        if is_plain
            && let Ok(response) = outcome
            && let Some(plain) = without_declarations(&response.result)
        {
            response.result = plain.into();
        }
    }
}

/// Returns the list without the declarations in it; `None` if there are none.
fn without_declarations(list: &RawJson) -> Option<RawJson> {
    let mentions = |word: &str| memmem::find(list.as_bytes(), word.as_bytes()).is_some();
    if !mentions(ToolSecurity::MEMBER) && !mentions(EXTENSION_ID) {
        return None;
    }
    let mut list = Object::from_raw(list).ok()?;
    let mut tools: Vec<RawJson> = list.get("tools")?.to().ok()?;
    let mut is_changed = false;
    for tool in &mut tools {
        if let Some(plain) = plain(tool) {
            (*tool, is_changed) = (plain, true);
        }
    }
    list.set("tools", RawJson::from_value(&tools).ok().filter(|_| is_changed)?);
    Some(list.to_raw())
}

/// Returns the tool without its declaration; `None` if it has none.
fn plain(tool: &RawJson) -> Option<RawJson> {
    let mut tool = Object::from_raw(tool).ok()?;
    let security = tool.object(ToolSecurity::MEMBER).filter(|security| security.contains("risk_level"));
    if security.is_some() {
        tool.remove(ToolSecurity::MEMBER);
    }
    (take_from_meta(&mut tool, EXTENSION_ID) || security.is_some()).then(|| tool.to_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain_list(tools: &str) -> Option<String> {
        let list = RawJson::parse(format!(r#"{{"tools":[{tools}]}}"#)).unwrap();
        let plain = without_declarations(&list)?;
        Some(String::from_utf8(plain.as_bytes().to_vec()).unwrap())
    }

    #[test]
    fn a_declaration_and_its_mirror_are_taken_out_and_all_else_stays_byte_for_byte() {
        let plain = plain_list(concat!(
            r#"{"name":"a", "x":1.50,"security":{"risk_level":"safe"},"_meta":{"dev.cloto/mgp":{"security":{}}}},"#,
            r#"{"name":"b", "y":[1, 2],"_meta":{"their":1,"dev.cloto/mgp":{}}},{"name":"c", "z":0}"#,
        ));
        let expected = r#"{"tools":[{"name":"a","x":1.50},{"name":"b","y":[1, 2],"_meta":{"their":1}},{"name":"c", "z":0}]}"#;
        assert_eq!(plain.as_deref(), Some(expected));
    }

    #[test]
    fn what_is_no_declaration_of_mgp_stays() {
        for tool in [
            r#"{"name":"a","description":"About security."}"#,
            r#"{"name":"a","security":["oauth2"]}"#,
            r#"{"name":"a","security":{"schemes":[]}}"#,
            r#"{"name":"a","_meta":{"their":1}}"#,
        ] {
            assert_eq!(plain_list(tool), None, "{tool}");
        }
    }
}
