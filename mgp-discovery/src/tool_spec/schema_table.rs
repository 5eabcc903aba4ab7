//! The table of a section compared with its schema.

use std::collections::HashSet;

use serde_json::Value;

use super::document::Section;
use super::schema_diff::resolved;
use super::schema_rules::{TYPES, types};
use super::table::TableRow;

/// A difference between a table and a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableFault {
    pub(super) line: usize,
    pub(super) what: String,
    pub(super) help: String,
}

/// Returns what the first table of a section says differently than the schema.
///
/// The table has a row for each property of the root. The first column has the name, the columns "Type" and "Required"
/// the rest. Only parameters need the column "Required".
pub(super) fn faults(section: &Section, schema: &Value) -> Vec<TableFault> {
    let mut faults = Vec::new();
    let mut fault =
        |line, what: String, help: &str| faults.push(TableFault { line, what, help: help.to_owned() });
    let root = resolved(schema, schema);
    let none = serde_json::Map::new();
    let properties = root.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required: HashSet<&str> = root
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let Some(table) = section.tables().next() else {
        if !properties.is_empty() {
            fault(
                section.line,
                "the section has no table".to_owned(),
                "add one with the columns Name, Type, Required and Description",
            );
        }
        return faults;
    };
    let mut told = HashSet::new();
    for row in table.rows() {
        let name = row.name();
        let Some(property) = properties.get(name) else {
            fault(
                row.line,
                format!("the table has `{name}`, which is not in the schema"),
                "take the row out, or add the property",
            );
            continue;
        };
        if !told.insert(name) {
            fault(row.line, format!("the table has `{name}` twice"), "take one of the rows out");
        }
        let expected = types(resolved(schema, property));
        if let Some(said) = said_type(row).filter(|said| !expected.is_empty() && !is_type(said, &expected)) {
            let what = format!(
                "the table says that `{name}` is {said}, and the schema says {}",
                expected.join(" or ")
            );
            fault(row.line, what, "write the type of the schema");
        }
        let is_required = required.contains(name);
        match row.cell(&["required", "required?"]).map(yes_or_no) {
            None if section.kind != Some(super::section::SectionKind::InputSchema) => {}
            Some(Some(said)) if said == is_required => {}
            Some(Some(_)) => {
                let (table, schema) =
                    if is_required { ("optional", "required") } else { ("required", "optional") };
                fault(
                    row.line,
                    format!("the table says that `{name}` is {table}, and the schema that it is {schema}"),
                    "say the same in both",
                );
            }
            Some(None) | None => {
                let what = format!("the table does not say whether `{name}` is required");
                fault(row.line, what, "write Yes or No into a column Required");
            }
        }
    }
    for name in properties.keys().filter(|name| !told.contains(name.as_str())) {
        fault(
            table.line,
            format!("the table lacks `{name}`"),
            "add a row for it, or take it out of the schema",
        );
    }
    faults
}

/// Returns the first type that a row names; an array if its elements have the type.
fn said_type(row: TableRow<'_>) -> Option<&'static str> {
    let cell = row.cell(&["type"])?.to_lowercase();
    let mut words = cell.split(|c: char| !c.is_ascii_alphabetic());
    let said = words.find_map(|word| TYPES.into_iter().find(|known| *known == word))?;
    Some(if cell.ends_with("[]") { "array" } else { said })
}

fn is_type(said: &str, expected: &[&str]) -> bool {
    // Whole numbers are numbers.
    expected.contains(&said) || (said == "number" && expected.contains(&"integer"))
}

fn yes_or_no(cell: &str) -> Option<bool> {
    match cell.to_lowercase().as_str() {
        "yes" | "required" | "true" | "✓" => Some(true),
        "no" | "optional" | "false" | "✗" | "-" | "" => Some(false),
        _ => None,
    }
}
