//! Tools as benchmarks list them: a JSON object in each line, with an id that may be anything.

use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use mgp_toolindex::{Listing, ServerTools, Tool};
use mgp_types::RawJson;
use mgp_types::mgp::ToolHints;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A tool in a line.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Row {
    /// What answers call it.
    pub(crate) id: String,
    pub(crate) server: String,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) description: String,
    #[serde(default)]
    pub(crate) server_description: String,
    #[serde(default = "RawJson::empty_object")]
    pub(crate) input_schema: RawJson,
    #[serde(default)]
    pub(crate) categories: Vec<String>,
}

/// The ids of tools by server and name.
pub(crate) type Ids = HashMap<(String, String), String>;

/// Reads lines of JSON; the error names the line.
pub(crate) fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, Box<dyn Error>> {
    let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut rows = Vec::new();
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let line = line?;
        if !line.trim().is_empty() {
            let row = serde_json::from_str(&line);
            rows.push(row.map_err(|error| format!("{}:{}: {error}", path.display(), number + 1))?);
        }
    }
    Ok(rows)
}

/// The servers of all tools, each with a name that no other tool of its server has.
pub(crate) fn servers(rows: &[Row]) -> Result<(Vec<ServerTools>, Ids), Box<dyn Error>> {
    let mut servers: Vec<ServerTools> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let (mut names, mut ids) = (HashSet::new(), Ids::new());
    for row in rows {
        let place = *places.entry(&row.server).or_insert_with(|| {
            servers.push(
                ServerTools::new(row.server.as_str(), Vec::new()).description(&*row.server_description),
            );
            servers.len() - 1
        });
        // Spaces are no words: what is indexed of the name stays the same.
        let mut name = row.name.clone();
        while name.is_empty() || !names.insert((&row.server, name.clone())) {
            name.push(' ');
        }
        let definition =
            Definition { name: &name, description: &row.description, input_schema: &row.input_schema };
        let mut hints = ToolHints::default();
        hints.categories.clone_from(&row.categories);
        let listing = Listing::read(&RawJson::from_value(&definition)?)?.hints(hints);
        servers[place].tools.push(listing);
        ids.insert((row.server.clone(), name), row.id.clone());
    }
    Ok((servers, ids))
}

/// The id of a tool that came from [`servers`].
pub(crate) fn id<'a>(ids: &'a Ids, tool: &Tool) -> &'a str {
    ids.get(&(tool.server.to_string(), tool.name.to_string())).map_or("", String::as_str)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Definition<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a RawJson,
}
