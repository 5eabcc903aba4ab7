//! Tests of the members that each revision keeps of a body, by the tables of the specification in `revisions.txt`.

use mgp_types::mcp::{self, ForRevision, task};
use mgp_types::{Object, Revision};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads the type that is named, fits it to the revision and writes it.
macro_rules! bodies {
    ($($module:ident: $($body:ident)*;)*) => {
        fn fit(kind: &str, json: &str, revision: Revision) -> String {
            match kind {
                $($(stringify!($body) => fit_as::<$module::$body>(json, revision),)*)*
                other => panic!("{other} is no type of this table"),
            }
        }
    };
}

bodies! {
    mcp: Annotations CallToolParams CallToolResult ClientCapabilities CompleteParams CompleteResult ContentBlock
        CreateMessageParams ElicitParams ElicitResult ElicitationCapability EmbeddedResource EmptyResult FormSchema
        GetPromptParams GetPromptResult Implementation ListPromptsResult ListResourceTemplatesResult
        ListResourcesResult ListRootsResult ListToolsResult Meta ModelPreferences PrimitiveSchema ProgressParams Prompt
        PromptArgument ReadResourceParams ReadResourceResult Reference Resource ResourceContents ResourceTemplate Root
        RootsCapability SamplingCapability SamplingMessage ServerCapabilities TextContent Tool;
    task: Task;
}

fn fit_as<T: ForRevision + Serialize + DeserializeOwned>(json: &str, revision: Revision) -> String {
    let body: T = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
    serde_json::to_string(&body.for_revision(revision)).expect("bodies are JSON")
}

/// Returns the rows of the file: a type, and what stands behind it.
fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("revisions.txt").lines();
    let rows = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|row| row.split_once(' ').expect("a type stands in front"))
}

/// Returns whether a member exists in `revision`; `range` is `06..` since 2025-06-18, `..11` until 2025-11-25, `11` only in
/// that, and `..` always.
fn exists(range: &str, revision: Revision) -> bool {
    let named = |short: &str| match short {
        "03" => Revision::V2025_03_26,
        "06" => Revision::V2025_06_18,
        "11" => Revision::V2025_11_25,
        "26" => Revision::V2026_07_28,
        other => panic!("{other} is no revision"),
    };
    match range.split_once("..") {
        None => revision == named(range),
        Some((first, last)) => {
            (first.is_empty() || revision >= named(first)) && (last.is_empty() || revision <= named(last))
        }
    }
}

fn names(json: &str) -> Vec<String> {
    let object = Object::parse(json.to_owned()).expect(json);
    object.iter().map(|(name, _)| name.to_string()).collect()
}

#[test]
fn each_revision_keeps_the_members_that_it_has() {
    let mut checked = 0;
    for (kind, row) in rows() {
        let Some((json, row)) = row.split_once(" | ") else { continue };
        let members: Vec<(&str, &str)> =
            row.split(' ').map(|member| member.split_once('@').unwrap_or((member, ".."))).collect();
        let listed: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
        assert_eq!(names(json), listed, "the row names every member of the example");
        for revision in Revision::ALL {
            let expected: Vec<&str> =
                members.iter().filter(|(_, range)| exists(range, revision)).map(|(name, _)| *name).collect();
            assert_eq!(names(&fit(kind, json, revision)), expected, "{revision}: {kind}");
        }
        checked += 1;
    }
    assert!(checked > 40, "only {checked} rows were found");
}

#[test]
fn what_a_revision_lacks_takes_another_form_and_keeps_it() {
    let mut checked = 0;
    for (kind, row) in rows().filter(|(_, row)| !row.contains(" | ")) {
        let (revision, row) = row.split_once(' ').expect("a revision stands behind the type");
        let revision = revision.parse().unwrap_or_else(|_| panic!("{revision} is no revision"));
        let (json, expected) = row.split_once(" => ").unwrap_or((row, row));
        let fitted = fit(kind, json, revision);
        assert_eq!(fitted, expected, "{revision}: {kind} {json}");
        assert_eq!(fit(kind, &fitted, revision), fitted, "{revision}: {kind} {json}, once more");
        checked += 1;
    }
    assert!(checked > 30, "only {checked} rows were found");
}

#[test]
fn a_task_of_another_state_is_not_at_its_end() {
    let json = r#"{"taskId":"t","status":"becalmed","createdAt":"","lastUpdatedAt":"","ttl":5}"#;
    let task: task::Task = serde_json::from_str(json).expect("it is a task");
    assert!(!task.status.is_terminal());
}
