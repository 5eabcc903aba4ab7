//! The gate that lists tools as each client can read them: in the terms of its revision, and with the declarations of §4 only
//! if it asked for them.

use memchr::memmem;
use mgp_types::mgp::{EXTENSION_ID, Extension, ToolSecurity};
use mgp_types::{Error, Flow, Gate, Method, Object, RawJson, Request, RequestKind, Response};
use serde_json::Value;

/// A gate that takes out of a list of tools what its client did not ask for, or cannot read.
///
/// Without `security`, that is what servers declare of the security of their tools (§4.2): for such a client a list is one
/// of MCP. A member `security` without `risk_level` is none of MGP's, and stays. Before 2026-07-28 each result of a tool is
/// an object, and clients reject a list in which one schema of results says otherwise.
///
/// Sits around all that lists tools. A list in which there is nothing of this costs one search through its bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListedToolsGate;

/// What is taken out of a list.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ListEdits {
    hides_security: bool,
    /// True if results are objects.
    has_object_results: bool,
}

impl Gate for ListedToolsGate {
    type Pass = ListEdits;

    fn enter(&self, request: &mut Request) -> Flow<ListEdits> {
        if request.kind != RequestKind::Call || request.method != Method::TOOLS_LIST {
            return Flow::Pass(ListEdits::default());
        }
        let session = request.context.session.as_ref();
        Flow::Pass(ListEdits {
            hides_security: !session.is_some_and(|session| session.has(&Extension::ToolSecurity)),
            has_object_results: !session.is_some_and(|session| session.describes_each_request()),
        })
    }

    fn leave(&self, edits: ListEdits, outcome: &mut Result<Response, Error>) {
        if let Ok(response) = outcome
            && let Some(edited) = edits.edited_list(&response.result)
        {
            response.result = edited.into();
        }
    }
}

impl ListEdits {
    /// Returns the list with these edits; `None` if there is nothing to edit.
    fn edited_list(self, list: &RawJson) -> Option<RawJson> {
        let mentions = |word: &str| memmem::find(list.as_bytes(), word.as_bytes()).is_some();
        let edits = Self {
            hides_security: self.hides_security && (mentions(ToolSecurity::MEMBER) || mentions(EXTENSION_ID)),
            has_object_results: self.has_object_results && mentions(RESULTS),
        };
        if !edits.hides_security && !edits.has_object_results {
            return None;
        }
        let mut list = Object::from_raw(list).ok()?;
        let mut tools: Vec<RawJson> = list.get("tools")?.to().ok()?;
        let mut is_changed = false;
        for tool in &mut tools {
            if let Some(edited) = edits.edited_tool(tool) {
                (*tool, is_changed) = (edited, true);
            }
        }
        list.set("tools", RawJson::from_value(&tools).ok().filter(|_| is_changed)?);
        Some(list.to_raw())
    }

    /// Returns the tool with these edits; `None` if there is nothing to edit.
    fn edited_tool(self, tool: &RawJson) -> Option<RawJson> {
        let mut tool = Object::from_raw(tool).ok()?;
        let is_plain = self.hides_security && take_security(&mut tool);
        let is_of_objects = self.has_object_results && take_other_results(&mut tool);
        (is_plain || is_of_objects).then(|| tool.to_raw())
    }
}

/// Takes the declaration of §4 out of the definition. Returns whether there was one.
fn take_security(tool: &mut Object) -> bool {
    let security = tool.object(ToolSecurity::MEMBER).filter(|security| security.contains("risk_level"));
    if security.is_some() {
        tool.remove(ToolSecurity::MEMBER);
    }
    take_from_meta(tool, EXTENSION_ID) || security.is_some()
}

/// Takes `member` out of `_meta` of `object`, and `_meta` as well if nothing else stands there. Returns whether there
/// was one.
fn take_from_meta(object: &mut Object, member: &'static str) -> bool {
    let Some(mut meta) = object.object("_meta").filter(|meta| meta.contains(member)) else { return false };
    meta.remove(member);
    if meta.is_empty() {
        object.remove("_meta");
    } else {
        object.set("_meta", meta.to_raw());
    }
    true
}

/// Has the schema of results describe an object: one that says nothing of its type describes one, and any other is taken
/// out. Returns whether the definition was changed.
fn take_other_results(tool: &mut Object) -> bool {
    let Some(mut schema) = tool.object(RESULTS) else { return false };
    match schema.get("type").and_then(|root| root.to::<Value>().ok()) {
        Some(Value::String(root)) if root == "object" => return false,
        None | Some(Value::Null) => {
            schema.set("type", RawJson::from_text("object"));
            tool.set(RESULTS, schema.to_raw());
        }
        Some(_) => drop(tool.remove(RESULTS)),
    }
    true
}

const RESULTS: &str = "outputSchema";

#[cfg(test)]
mod tests {
    use super::*;

    fn plain_list(tools: &str) -> Option<String> {
        let list = RawJson::parse(format!(r#"{{"tools":[{tools}]}}"#)).unwrap();
        let edits = ListEdits { hides_security: true, has_object_results: false };
        let plain = edits.edited_list(&list)?;
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

    #[test]
    fn clients_of_older_revisions_are_listed_no_results_but_objects() {
        let edits = ListEdits { hides_security: false, has_object_results: true };
        let edited = |tool: &str| {
            let list = RawJson::parse(format!(r#"{{"tools":[{tool}]}}"#)).unwrap();
            edits.edited_list(&list).map(|list| list.to_string())
        };
        for (schema, expected) in [
            (r#"{"oneOf":[{}]}"#, r#","outputSchema":{"oneOf":[{}],"type":"object"}"#),
            (r#"{"type":"array"}"#, ""),
            (r#"{"type":["object","null"]}"#, ""),
        ] {
            let listed = edited(&format!(r#"{{"name":"a","outputSchema":{schema}}}"#));
            assert_eq!(listed, Some(format!(r#"{{"tools":[{{"name":"a"{expected}}}]}}"#)));
        }
        assert_eq!(edited(r#"{"name":"a","outputSchema":{"type":"object"}}"#), None);
        assert_eq!(edited(r#"{"name":"a","description":"outputSchema"}"#), None);
    }
}
