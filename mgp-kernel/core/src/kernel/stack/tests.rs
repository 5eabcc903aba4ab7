//! The page of `ARCHITECTURE.md` that follows a call, held against the types of the stacks.

use std::any::type_name;
use std::path::Path;

use super::*;

/// A step of a call's way: a type, and the file that defines it.
type Step = (String, String);

#[test]
fn the_page_about_the_way_of_a_call_names_each_file_in_order() {
    let page = include_str!("../../../../../ARCHITECTURE.md");
    let (_, page) = page.split_once("## 5. The way of a call").expect("the page is there");
    let (page, _) = page.split_once("\n## ").expect("another section follows");
    let [to_kernel, front, back, to_server] = &tables(page)[..] else { panic!("the page has four tables") };
    assert_eq!(*front, steps(returned(ClientStack::layers)), "from a client to the router");
    assert_eq!(*back, steps(returned_by_server(layers)), "from the router to a server");
    for (name, file) in to_kernel.iter().chain(to_server) {
        let text = std::fs::read_to_string(root().join(file)).expect(file);
        let is_defined =
            ["struct", "enum", "fn", "trait"].iter().any(|kind| text.contains(&format!("{kind} {name}")));
        assert!(is_defined, "{file} defines no {name}");
    }
}

fn returned<'a, R>(_: impl FnOnce(&'a ClientStack, &'a AuthLayer) -> R) -> &'static str {
    type_name::<R>()
}

fn returned_by_server<'a, R>(_: impl FnOnce(&'a ConnectionShared, UpstreamTransport) -> R) -> &'static str {
    type_name::<R>()
}

/// Reads the tables of a page: the first two columns of each row, without the head.
fn tables(page: &str) -> Vec<Vec<Step>> {
    let row = |line: &str| {
        let mut quoted = line.split('`').skip(1).step_by(2).map(str::to_owned);
        Some((quoted.next()?, quoted.next()?))
    };
    let blocks = page.split("\n\n").filter(|block| block.starts_with('|'));
    blocks.map(|block| block.lines().skip(2).map(|line| row(line).expect(line)).collect()).collect()
}

/// Reads the types of a stack from the name of its type, which names the outermost first.
fn steps(stack: &str) -> Vec<Step> {
    let names = stack.split(|byte: char| !byte.is_alphanumeric() && byte != '_' && byte != ':');
    let ours =
        names.filter(|name| name.starts_with("mgp_") && !NO_STEPS.iter().any(|other| name.ends_with(other)));
    ours.map(|name| {
        let (path, name) = name.rsplit_once("::").expect("a type stands in a module");
        (name.to_owned(), file_of(path))
    })
    .collect()
}

/// Returns the file of a module, such as `mgp-kernel/core/src/front/resolve.rs`.
fn file_of(module: &str) -> String {
    let (krate, path) = module.split_once("::").expect("no type of a stack stands in `lib.rs`");
    let krate =
        if krate == "mgp_kernel_core" { "mgp-kernel/core".to_owned() } else { krate.replace('_', "-") };
    let path = format!("{krate}/src/{}", path.replace("::", "/"));
    let files = [format!("{path}.rs"), format!("{path}/mod.rs")];
    files.into_iter().find(|file| root().join(file).exists()).expect(module)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate lies in a workspace")
}

/// Types that a call does not stop at: what joins others, and the forms of results.
const NO_STEPS: [&str; 4] = ["::Gated", "::ServerStack", "::StartError", "::BoxedService"];
