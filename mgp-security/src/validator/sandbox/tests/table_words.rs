//! The words of the tables that the code names, each of which its table has to hold.

use std::fs;
use std::path::PathBuf;

use regex::Regex;

use super::super::is_listed;

fn is_known(table: &str, word: &str) -> bool {
    let mut dangers = include_str!("../known/dangers.txt").lines().filter_map(|line| line.split_once(' '));
    match table {
        "Danger" => dangers.any(|(class, advice)| class == word && advice.contains(' ')),
        "Kind" => is_listed("kinds", word),
        _ => is_listed("traits", word),
    }
}

#[test]
fn each_word_that_the_code_names_is_in_its_table() {
    let uses = Regex::new(r#"\b(Danger|Kind|Trait)\(("[^)]*")\)"#).unwrap();
    let mut folders = vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src/validator/sandbox"))];
    let mut found = 0;
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                for (_, [table, words]) in uses.captures_iter(&text).map(|captures| captures.extract()) {
                    for word in words.split('|').map(|word| word.trim().trim_matches('"')) {
                        assert!(is_known(table, word), "{table} {word} in {}", path.display());
                        found += 1;
                    }
                }
            }
        }
    }
    assert!(found > 200, "{found}");
}
