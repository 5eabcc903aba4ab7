//! Our reading against an independent grammar: where that one sees a command without doubt, we must see it too.

use tree_sitter::{Node, Parser};

use crate::shell::read;
use crate::shell::syntax::{Body, Item, Part, Stage};

use super::rows;

#[test]
fn no_command_that_another_grammar_sees_is_overlooked() {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).expect("the grammar fits the library");
    let dangerous = rows(include_str!("dangerous_commands.txt"))
        .map(|row| row.split_once('\t').expect("each row has a class").1.to_owned());
    let mut compared = 0;
    for command in rows(include_str!("harmless_commands.txt")).chain(dangerous) {
        let tree = parser.parse(&command, None).expect("no limit is set");
        if tree.root_node().has_error() {
            continue;
        }
        let mut theirs = Vec::new();
        names(tree.root_node(), &command, &mut theirs);
        let mut ours = Vec::new();
        let reading = read(&command);
        reading.script.walk(&mut |item| {
            if let Item::Stage(Stage { body: Body::Simple(simple), .. }) = item
                && let Some([Part::Bare(name)]) = simple.words.first().map(|word| word.parts.as_slice())
            {
                ours.push(name.clone());
            }
        });
        for name in &theirs {
            // To us these are words of the language and no commands.
            assert!(
                matches!(name.as_str(), "time" | "coproc") || ours.contains(name),
                "{name} in {command}: {ours:?}"
            );
        }
        compared += theirs.len();
    }
    assert!(compared > 1_000, "{compared}");
}

fn names(node: Node<'_>, text: &str, out: &mut Vec<String>) {
    if node.kind() == "command_name" && node.child(0).is_some_and(|child| child.kind() == "word") {
        let name = &text[node.byte_range()];
        if name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-./".contains(&b)) {
            out.push(name.to_owned());
        }
    }
    let mut cursor = node.walk();
    for child in node.children(&mut cursor) {
        names(child, text, out);
    }
}
