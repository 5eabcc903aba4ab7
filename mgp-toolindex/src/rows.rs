//! Tools and queries in files, a JSON object in each line.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, Read};

use mgp_types::mgp::ToolHints;
use mgp_types::{Object, RawJson};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::{Index, ServerTools, Tool, ToolListing};

/// A tool in a file: a JSON object in each line, with an id that may be any text.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolRow {
    /// The id of the tool in answers.
    pub id: String,
    /// The server of the tool.
    pub server: String,
    /// The name of the tool at its server.
    pub name: String,
    /// The description of the tool.
    #[serde(default)]
    pub description: String,
    /// The purpose of the server.
    #[serde(default)]
    pub server_description: String,
    /// The JSON Schema of the arguments.
    #[serde(default = "RawJson::empty_object")]
    pub input_schema: RawJson,
    /// The categories of the tool.
    #[serde(default)]
    pub categories: Vec<String>,
}

/// A query in a file.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct QueryRow {
    /// The id of the query in answers.
    pub id: String,
    /// The text of the query.
    pub text: String,
}

/// The servers of tools that came from a file, with the ids of the file.
#[derive(Debug, Default)]
pub struct Corpus {
    servers: Vec<ServerTools>,
    ids: HashMap<(String, String), String>,
}

const LONGEST_LINE: u64 = 4 << 20;

/// The reason why a file of rows cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// The source of the lines fails.
    #[error("line {line} cannot be read")]
    Unreadable {
        /// The line number.
        line: usize,
        /// The error of the source.
        source: io::Error,
    },
    /// The line is not a row.
    #[error("line {line}: {source}")]
    Malformed {
        /// The line number.
        line: usize,
        /// The error in the line.
        source: serde_json::Error,
    },
    /// The line is longer than any definition.
    #[error("line {line} is longer than {LONGEST_LINE} bytes")]
    TooLong {
        /// The line number.
        line: usize,
    },
    /// The row is not a valid definition of a tool.
    #[error("the tool {id:?} has no definition that can be searched")]
    NoTool {
        /// The id in the file.
        id: String,
    },
}

impl Corpus {
    /// Returns the servers of all tools, each tool with a name that is unique in its server.
    ///
    /// # Errors
    /// A row is not a valid definition.
    pub fn new(rows: &[ToolRow]) -> Result<Self, RowError> {
        let mut corpus = Self::default();
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut names = HashSet::new();
        for row in rows {
            let place = *places.entry(&row.server).or_insert_with(|| {
                let server = ServerTools::new(row.server.as_str(), Vec::new());
                corpus.servers.push(server.description(&*row.server_description));
                corpus.servers.len() - 1
            });
            // Spaces are no words: the indexed words of the name stay the same.
            let mut name = row.name.clone();
            while name.is_empty() || !names.insert((&row.server, name.clone())) {
                name.push(' ');
            }
            let mut definition = Object::new();
            definition.set("name", RawJson::from_text(&name));
            definition.set("description", RawJson::from_text(&row.description));
            definition.set("inputSchema", row.input_schema.clone());
            let mut hints = ToolHints::default();
            hints.categories.clone_from(&row.categories);
            let listing = ToolListing::read(&definition.to_raw());
            let listing = listing.map_err(|_| RowError::NoTool { id: row.id.clone() })?;
            corpus.servers[place].tools.push(listing.hints(hints));
            corpus.ids.insert((row.server.clone(), name), row.id.clone());
        }
        Ok(corpus)
    }

    /// Returns the id of `tool` in the file; empty if it is not of the file.
    pub fn id(&self, tool: &Tool) -> &str {
        self.ids.get(&(tool.server.to_string(), tool.name.to_string())).map_or("", String::as_str)
    }

    /// Puts all servers into `index`, and waits until all tools can be found, by meaning as well. With an embedder that
    /// makes no vectors the wait never ends.
    pub async fn index(&self, index: &Index) {
        for server in &self.servers {
            index.put_server(server.clone()).await;
        }
        index.embedded().await;
    }
}

/// Reads rows such as [`ToolRow`] and [`QueryRow`], a JSON object in each line; empty lines are skipped.
///
/// # Errors
/// A line is not such a row; the error names the line.
pub fn read_rows<T: DeserializeOwned>(mut from: impl BufRead) -> Result<Vec<T>, RowError> {
    let mut rows = Vec::new();
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let read = from.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut bytes);
        if read.map_err(|source| RowError::Unreadable { line, source })? == 0 {
            break;
        }
        if bytes.len() as u64 > LONGEST_LINE {
            return Err(RowError::TooLong { line });
        }
        if !bytes.trim_ascii().is_empty() {
            let row = serde_json::from_slice(&bytes);
            rows.push(row.map_err(|source| RowError::Malformed { line, source })?);
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Search;
    use crate::embed::StaticEmbedder;

    #[tokio::test]
    async fn tools_of_one_name_are_told_apart_by_their_ids() {
        let tools = concat!(
            "{\"id\":\"1\",\"server\":\"fs\",\"name\":\"read\",\"description\":\"Reads a giraffe.\"}\n\n",
            "{\"id\":\"2\",\"server\":\"fs\",\"name\":\"read\",\"description\":\"Reads a zebra.\"}\n",
        );
        let corpus = Corpus::new(&read_rows(tools.as_bytes()).unwrap()).unwrap();
        let index = Index::new(Arc::new(StaticEmbedder::new()));
        corpus.index(&index).await;
        let found = index.search(&Search::new("zebra").limit(1)).await;
        assert_eq!(corpus.id(&found.hits[0].tool), "2");
        assert_eq!(corpus.servers.len(), 1);
    }

    #[test]
    fn an_error_names_the_line() {
        let error = read_rows::<QueryRow>(&b"{\"id\":\"1\",\"text\":\"x\"}\n{}\n"[..]).unwrap_err();
        assert!(error.to_string().starts_with("line 2: "), "{error}");
        let endless = io::BufReader::new(io::repeat(b'x'));
        assert!(matches!(read_rows::<QueryRow>(endless).unwrap_err(), RowError::TooLong { line: 1 }));
    }
}
