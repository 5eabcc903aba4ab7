//! What is read from documents and definitions.

use super::*;
use crate::tool_spec::InvalidDefinition;

fn documented(text: &str) -> Vec<ToolInterface> {
    ToolInterface::of_document(&document(text))
}

// covers: ENV-5.2-04
#[test]
fn a_declaration_has_a_name_and_a_version() {
    let tools = documented("# Tools\n\n## Tool: `module_name.tool_name`\n\n**Version**: 1.2.3\n");
    assert_eq!((tools[0].name(), tools[0].version), ("module_name.tool_name", "1.2.3".parse().ok()));
}

// covers: ENV-5.2-01
#[test]
fn each_tool_has_a_version_of_its_own() {
    let tools = documented(
        "## Tool: `a.b`\n**Version**: 1.0.0\n## Tool: `a.c`\n### 1. Purpose\n**Version**: 3.4.5\n",
    );
    let versions: Vec<_> = tools.iter().map(|tool| tool.version.unwrap().to_string()).collect();
    assert_eq!(versions, ["1.0.0", "3.4.5"]);
    let list = r#"{"tools":[{"name":"b","inputSchema":{},"_meta":{"version":"2.0.1"}},{"name":"c","inputSchema":{}}]}"#;
    let tools = ToolInterface::of_definitions(list).unwrap();
    assert_eq!((tools[0].version, tools[1].version), ("2.0.1".parse().ok(), None));
}

// covers: ENV-5.1-03
#[test]
fn the_page_about_documents_says_what_the_version_of_the_protocol_covers() {
    let page = include_str!("../../../../docs/tool-specs.md").replace('\n', " ");
    let said = "That of the protocol, `1.0.0`, covers the structure of calls and results, the form of errors, and the rules on \
                this page.";
    assert!(page.contains(said));
}

#[test]
fn headings_in_code_and_between_tools_begin_nothing() {
    let text = "## Tool: `a.b`\n### 1. Purpose\nCounts.\n```sh\n## Tool: `a.no`\n```\n~~~~\n```\n### 2. Name\n~~~~\n\
                ## Notes\n### 2. Name\n## Tool: `a.c`\n";
    let read = document(text);
    assert_eq!(read.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["a.b", "a.c"]);
    assert_eq!(read.tools[0].sections.len(), 1);
    assert_eq!((read.open_block, document("## Tool: `a.b`\n```json\n{").open_block), (None, Some(2)));
}

#[test]
fn a_bar_in_a_cell_is_escaped() {
    let read =
        document("## Tool: `a.b`\n### 3. Parameters\n| Name | Type |\n|:--|--:|\n| `a\\|b` | `string` |\n");
    let table = read.tools[0].sections[0].tables().next().unwrap();
    let rows: Vec<_> = table.rows().map(|row| (row.name(), row.cell(&["type"]))).collect();
    assert_eq!(rows, [("a|b", Some("string"))]);
}

#[test]
fn what_defines_no_tool_is_refused() {
    let error = |json: &str| ToolInterface::of_definitions(json).unwrap_err();
    assert!(matches!(error("{"), InvalidDefinition::Json(_)));
    assert_eq!(error(r#"{"tool":1}"#), InvalidDefinition::NoTool);
    // A tool without a schema of its parameters is not one.
    assert_eq!(
        error(r#"{"tools":[{"name":"a","inputSchema":{}},{"name":"b"}]}"#),
        InvalidDefinition::Incomplete(2)
    );
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{}}]}}"#;
    assert_eq!(ToolInterface::of_definitions(answer).unwrap()[0].name(), "a");
}
