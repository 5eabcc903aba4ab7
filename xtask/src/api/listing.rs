//! The public items of one crate, read from what rustdoc writes of it as JSON.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    path::Path,
};

use anyhow::{Context, Result};
use public_api::{Builder, PublicItem, tokens::Token};

/// The public items of a crate: a line for each, and for what belongs to it.
#[derive(Debug)]
pub(super) struct Listing {
    lines: Vec<String>,
    items: usize,
}

impl Listing {
    /// Reads the JSON that rustdoc wrote. An item that has several paths is listed with the shortest of them. Impls that
    /// the compiler made (of auto traits, blanket and derived ones) are left out, and so are the members of trait impls.
    pub(super) fn read(json: &Path) -> Result<Self> {
        let api = Builder::from_rustdoc_json(json)
            .omit_auto_trait_impls(true)
            .omit_blanket_impls(true)
            .omit_auto_derived_impls(true)
            .build()
            .with_context(|| {
                let file = json.display();
                format!(
                    "cannot read {file}: the version of `public-api` in Cargo.toml has to fit that of Rust"
                )
            })?;
        let modules: HashSet<_> =
            api.items().filter(|item| kind(item) == Some("mod")).map(PublicItem::id).collect();
        let trait_impls: HashSet<_> =
            api.items().filter(|item| shape(item) == Shape::TraitImpl).map(PublicItem::id).collect();
        let mut shortest = HashMap::new();
        for item in api.items() {
            let shown = item.to_string();
            let known = shortest.entry(item.id()).or_insert_with(|| shown.clone());
            if shown.len() < known.len() {
                *known = shown;
            }
        }
        let mut listing = Self { lines: Vec::new(), items: 0 };
        for item in api.items() {
            let parent = item.parent_id();
            let of_trait_impl = parent.is_some_and(|parent| trait_impls.contains(&parent));
            if of_trait_impl || shape(item) == Shape::InherentImpl {
                continue;
            }
            let shown = item.to_string();
            if shortest.get(&item.id()) != Some(&shown) {
                continue;
            }
            shortest.remove(&item.id());
            let in_module = parent.is_some_and(|parent| modules.contains(&parent));
            listing.items += usize::from(in_module && kind(item).is_some());
            listing.lines.push(shown);
        }
        Ok(listing)
    }

    /// Returns the number of types, traits, functions, macros, constants and modules. The crate itself, variants,
    /// fields, methods and impls do not count.
    pub(super) const fn items(&self) -> usize {
        self.items
    }

    /// Returns the lines that another listing does not have.
    pub(super) fn without<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a String> {
        self.lines.iter().filter(|line| !other.lines.contains(line))
    }
}

impl fmt::Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// The kind of a line.
#[derive(Debug, PartialEq, Eq)]
enum Shape {
    Item,
    TraitImpl,
    InherentImpl,
}

fn shape(item: &PublicItem) -> Shape {
    let tokens: Vec<&Token> = item.tokens().filter(|token| !is_keyword(token, "unsafe")).collect();
    if !tokens
        .iter()
        .find(|token| ***token != Token::Whitespace)
        .is_some_and(|token| is_keyword(token, "impl"))
    {
        return Shape::Item;
    }
    // The `for` of `for<'a>` has no space behind it.
    let names_trait = |pair: &[&Token]| is_keyword(pair[0], "for") && *pair[1] == Token::Whitespace;
    if tokens.windows(2).any(names_trait) { Shape::TraitImpl } else { Shape::InherentImpl }
}

fn is_keyword(token: &Token, word: &str) -> bool {
    matches!(token, Token::Keyword(keyword) if keyword == word)
}

/// Returns the word that declares the item, such as `struct`; variants, fields and impls have none.
fn kind(item: &PublicItem) -> Option<&str> {
    item.tokens().find_map(|token| match token {
        Token::Kind(kind) => Some(kind.as_str()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process, process::Command};

    use super::*;
    use crate::api::rustdoc;

    /// Lists a crate `sample` that consists of `source`; `None` with a toolchain whose JSON is not read.
    fn listing(test: &str, source: &str) -> Option<Listing> {
        if rustdoc::obstacle().expect("rustdoc comes with the toolchain").is_some() {
            return None;
        }
        let folder = env::temp_dir().join(format!("xtask-api-{}-{test}", process::id()));
        fs::create_dir_all(&folder).expect("the temporary folder can be written");
        let file = folder.join("sample.rs");
        fs::write(&file, source).expect("the temporary folder can be written");
        let mut command = Command::new("rustdoc");
        command.args(["--edition", "2024", "--crate-name", "sample"]).args(rustdoc::JSON);
        command.arg("--out-dir").arg(&folder).arg(&file).env(rustdoc::UNSTABLE, "1");
        assert!(command.status().expect("rustdoc comes with the toolchain").success());
        let listing = Listing::read(&folder.join("sample.json")).expect("the versions fit");
        fs::remove_dir_all(&folder).expect("the temporary folder can be removed");
        Some(listing)
    }

    #[test]
    fn an_item_is_a_line_with_its_path_and_signature() {
        let Some(listing) =
            listing("lines", "pub mod a { pub fn f(x: &str) -> Option<u8> { x.bytes().next() } }")
        else {
            return;
        };
        assert_eq!(
            listing.to_string(),
            "pub mod sample\npub mod sample::a\npub fn sample::a::f(&str) -> core::option::Option<u8>\n"
        );
    }

    #[test]
    fn what_another_listing_lacks_is_gone() {
        let listing =
            |lines: &[&str]| Listing { lines: lines.iter().map(|&line| line.into()).collect(), items: 0 };
        let (before, now) = (listing(&["fn a()", "fn b()"]), listing(&["fn b()", "fn c()"]));
        assert_eq!(before.without(&now).collect::<Vec<_>>(), ["fn a()"]);
    }

    #[test]
    fn members_are_listed_and_do_not_count() {
        let source = "pub struct S { pub field: u8 } impl S { pub fn method(&self) {} } \
                      pub enum E { One, Two } pub trait T { const C: u8; type A; fn required(&self); }";
        let Some(listing) = listing("members", source) else { return };
        assert_eq!(listing.items(), 3);
        for member in
            ["S::field: u8", "S::method(&self)", "E::One", "E::Two", "T::C: u8", "T::A", "T::required(&self)"]
        {
            assert!(listing.lines.iter().any(|line| line.ends_with(member)), "{member} in {listing}");
        }
    }

    #[test]
    fn each_kind_of_item_counts_one() {
        let source = "pub mod m {} pub struct S; pub enum E {} pub union U { pub a: u8 } pub type A = u8; pub trait T {} \
                      pub fn f() {} pub const C: u8 = 1; pub static X: u8 = 1; #[macro_export] macro_rules! make { () => {} }";
        let Some(listing) = listing("kinds", source) else { return };
        assert_eq!(listing.items(), 10);
    }

    #[test]
    fn what_cannot_be_reached_is_not_listed() {
        let source = "mod hidden { pub struct Inside; pub struct Shown; } pub use hidden::Shown; pub(crate) fn f() {} \
                      #[doc(hidden)] pub fn g() {}";
        let Some(listing) = listing("reach", source) else { return };
        assert_eq!(
            (listing.items(), listing.to_string().as_str()),
            (1, "pub mod sample\npub struct sample::Shown\n")
        );
    }

    #[test]
    fn an_item_with_two_paths_is_listed_once() {
        let source = "pub mod a { pub struct S; impl S { pub fn f() {} } impl From<u8> for S { fn from(_: u8) -> Self { S } } } \
                      pub use a::S;";
        let Some(listing) = listing("twice", source) else { return };
        assert_eq!(listing.items(), 2);
        assert!(listing.lines.contains(&"pub struct sample::S".into()), "{listing}");
        let about = |word: &str| listing.lines.iter().filter(|line| line.contains(word)).count();
        assert_eq!((about("struct"), about("::f()"), about("impl")), (1, 1, 1), "{listing}");
    }

    #[test]
    fn trait_impls_are_one_line_and_made_ones_none() {
        let source = "#[derive(Clone, Debug)] pub struct S<F>(F); \
                      impl<F> From<u8> for S<F> where F: for<'a> Fn(&'a u8) + Default { fn from(_: u8) -> Self { S(F::default()) } } \
                      impl<F> S<F> where F: for<'a> Fn(&'a u8) { pub fn f() {} }";
        let Some(listing) = listing("impls", source) else { return };
        let impls: Vec<_> = listing.lines.iter().filter(|line| line.starts_with("impl")).collect();
        assert_eq!(impls.len(), 1, "{listing}");
        assert!(impls[0].starts_with("impl<F> core::convert::From<u8> for sample::S<F>"), "{}", impls[0]);
    }
}
