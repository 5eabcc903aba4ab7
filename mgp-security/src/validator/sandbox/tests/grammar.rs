//! Our reading against an independent grammar: where that one sees a command without doubt, we must see it too.

use tree_sitter::{Node, Parser};

use super::super::read::read;
use super::super::read::syntax::{Body, Part, Script, Stage, Word};
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
        script(&read(&command).script, &mut ours);
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

fn script(script_: &Script, out: &mut Vec<String>) {
    script_.pipelines.iter().flat_map(|pipeline| &pipeline.stages).for_each(|one| stage(one, out));
}

fn stage(stage: &Stage, out: &mut Vec<String>) {
    stage.redirects.iter().for_each(|redirect| word(&redirect.target, out));
    match &stage.body {
        Body::Simple(simple) => {
            if let Some([Part::Bare(name)]) = simple.words.first().map(|word| word.parts.as_slice()) {
                out.push(name.clone());
            }
            simple.assignments.iter().for_each(|assignment| word(&assignment.value, out));
            simple.words.iter().for_each(|one| word(one, out));
        }
        Body::Group(scripts) => scripts.iter().for_each(|one| script(one, out)),
        Body::For { values, body, .. } => {
            for value in values {
                word(value, out);
            }
            script(body, out);
        }
        Body::Loop { condition, body } => {
            script(condition, out);
            script(body, out);
        }
        Body::Function { body, .. } => script(body, out),
    }
}

fn word(word: &Word, out: &mut Vec<String>) {
    parts(&word.parts, out);
}

fn parts(all: &[Part], out: &mut Vec<String>) {
    for part in all {
        match part {
            Part::Double(inner) | Part::Arithmetic(inner) | Part::Variable { operator: Some(inner), .. } => {
                parts(inner, out);
            }
            Part::Command(inner) | Part::Process(inner) => script(inner, out),
            Part::Array(words) => words.iter().for_each(|one| word(one, out)),
            _ => {}
        }
    }
}
