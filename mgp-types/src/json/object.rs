//! JSON objects of which only the top-level members are known.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use smallvec::SmallVec;

use super::changes::{Change, Changes, NewValue};
use super::scan::{MemberKey, Scanner, Span};
use super::text::{read_string, unescape};
use super::{JsonError, JsonFault, RawJson};

/// A JSON object of which only the top-level members are known, each as a slice of the bytes it came in.
///
/// Reading a member is a search among a few spans, replacing one leaves the others untouched, and writing an unchanged
/// object is one copy. Member names are unique: the scanner refuses a repeated one.
///
/// ```
/// use mgp_types::{Object, RawJson};
///
/// let mut params = Object::parse(r#"{"name":"echo","arguments":{"text":"hi"}}"#)?;
/// assert_eq!(params.text("name").as_deref(), Some("echo"));
/// params.set("name", RawJson::parse(r#""shout""#)?);
/// assert_eq!(params.to_raw().as_bytes(), br#"{"name":"shout","arguments":{"text":"hi"}}"#);
/// # Ok::<(), mgp_types::JsonError>(())
/// ```
#[derive(Clone, Default)]
pub struct Object {
    /// The bytes that all spans point into.
    frame: Bytes,
    /// The span of the whole object in `frame`; empty for an object that was built member by member.
    whole: Span,
    members: SmallVec<[ObjectMember; 4]>,
    /// The members that were set later, by name. They count before `members`. Clones share them until one clone is
    /// changed.
    changes: Option<Arc<Changes>>,
}

#[derive(Debug, Clone)]
pub(crate) struct ObjectMember {
    pub(crate) key: MemberKey,
    pub(crate) value: Span,
}

impl Object {
    /// Creates an object without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// Scans `bytes`.
    ///
    /// # Errors
    /// The bytes are not exactly one JSON object with at most 120 arrays and objects open at once.
    pub fn parse(bytes: impl Into<Bytes>) -> Result<Self, JsonError> {
        Self::scanned_by(bytes.into(), |frame| Scanner::new(frame))
    }

    /// Reads the top-level members of `raw`. Their values were checked when `raw` was made, and are not looked into.
    ///
    /// # Errors
    /// `raw` is not an object, or repeats a member name.
    pub fn from_raw(raw: &RawJson) -> Result<Self, JsonError> {
        Self::scanned_by(raw.to_bytes(), |frame| Scanner::of_checked(frame))
    }

    fn scanned_by(
        frame: Bytes,
        scanner: impl for<'a> FnOnce(&'a [u8]) -> Scanner<'a>,
    ) -> Result<Self, JsonError> {
        let mut scanner = scanner(&frame);
        scanner.start()?;
        let mut members = SmallVec::new();
        let whole = scan_members(&mut scanner, &mut members)?;
        scanner.end()?;
        drop(scanner);
        Ok(Self::from_scan(frame, whole, members))
    }

    /// Writes `value` as an object.
    ///
    /// # Errors
    /// `value` cannot be written, or is not written as an object.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        let raw = RawJson::from_value(value)?;
        Self::from_raw(&raw).map_err(serde::ser::Error::custom)
    }

    /// Creates an object of the spans that a scan of `frame` found.
    pub(crate) fn from_scan(frame: Bytes, whole: Span, members: SmallVec<[ObjectMember; 4]>) -> Self {
        Self { frame, whole, members, changes: None }
    }

    /// Returns the member called `name`.
    pub fn get(&self, name: &str) -> Option<RawJson> {
        match self.changed(name) {
            Some(change) => change.value.json().cloned(),
            None => self.member(name).map(|member| self.value(member)),
        }
    }

    /// Returns the member called `name` as an object; `None` if the member is missing or no object.
    pub fn object(&self, name: &str) -> Option<Self> {
        match self.changed(name) {
            Some(Change { value: NewValue::Object(open), .. }) => Some(open.members.clone()),
            _ => Self::from_raw(&self.get(name)?).ok(),
        }
    }

    /// Returns the member called `name` for changes; `None` if the member is missing or no object.
    ///
    /// The member is parsed the first time only, and written when this object is written.
    pub fn object_mut(&mut self, name: &'static str) -> Option<&mut Self> {
        if !self.changed(name).is_some_and(|change| matches!(change.value, NewValue::Object(_))) {
            let members = self.object(name)?;
            self.change(Cow::Borrowed(name), NewValue::open(members));
        }
        let changes = Arc::make_mut(self.changes.as_mut()?);
        changes.iter_mut().find(|change| change.name == name)?.value.members_mut()
    }

    /// Returns the member called `name` for changes, as [`object_mut`](Self::object_mut) does. A member that is missing or
    /// no object becomes an empty object.
    #[expect(clippy::missing_panics_doc, reason = "the member has just become an object")]
    pub fn object_mut_or_new(&mut self, name: &'static str) -> &mut Self {
        if self.object_mut(name).is_none() {
            self.change(Cow::Borrowed(name), NewValue::open(Self::new()));
        }
        self.object_mut(name).expect("the member has just become an object")
    }

    /// Returns the bytes of the member called `name`.
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        match self.changed(name) {
            Some(change) => change.value.json().map(RawJson::as_bytes),
            None => self.member(name).map(|member| &self.frame[range(&member.value)]),
        }
    }

    /// Returns the value at the end of `path`, which leads through objects by the names of members.
    pub(crate) fn at<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> Option<RawJson> {
        let mut path = path.into_iter();
        let first = self.get(path.next()?)?;
        path.try_fold(first, |value, name| Self::from_raw(&value).ok()?.get(name))
    }

    /// Returns the member called `name` as text; `None` if the member is missing or no string.
    pub fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        read_string(self.bytes(name)?)
    }

    /// Returns whether the object has a member called `name`.
    pub fn contains(&self, name: &str) -> bool {
        self.bytes(name).is_some()
    }

    /// Returns whether the object has no members.
    pub fn is_empty(&self) -> bool {
        match &self.changes {
            None => self.members.is_empty(),
            Some(_) => self.iter().next().is_none(),
        }
    }

    /// Returns the members in order.
    pub fn iter(&self) -> impl Iterator<Item = (Cow<'_, str>, RawJson)> {
        let kept = self.members.iter().filter_map(|member| match self.change_of(member) {
            Some(change) => change.value.json().map(|value| (self.name(member), value.clone())),
            None => Some((self.name(member), self.value(member))),
        });
        let added =
            self.added().filter_map(|(name, value)| Some((Cow::Borrowed(name), value.json()?.clone())));
        kept.chain(added)
    }

    /// Returns the members as they came, each by its name without escapes.
    pub(crate) fn scanned(&self) -> impl Iterator<Item = (Cow<'_, [u8]>, &[u8])> {
        self.members.iter().map(|member| (self.raw_name(member), &self.frame[range(&member.value)]))
    }

    /// Sets the member called `name`, in its old place if the object has it, else at the end.
    pub fn set(&mut self, name: impl Into<Cow<'static, str>>, value: RawJson) {
        self.change(name.into(), NewValue::Json(value));
    }

    /// Sets all members of `others`.
    pub fn set_all(&mut self, others: &Self) {
        others.iter().for_each(|(name, value)| self.set(name.into_owned(), value));
    }

    /// Removes the member called `name` and returns its value.
    pub fn remove(&mut self, name: impl Into<Cow<'static, str>>) -> Option<RawJson> {
        let name = name.into();
        let old = self.get(&name)?;
        self.change(name, NewValue::Removed);
        Some(old)
    }

    /// Returns the object as a typed value.
    ///
    /// # Errors
    /// The object does not have the shape of `T`.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        if let Some(bytes) = self.unchanged() { serde_json::from_slice(bytes) } else { self.to_raw().to() }
    }

    /// Returns the object as one JSON value. An unchanged object is not copied.
    pub fn to_raw(&self) -> RawJson {
        if self.unchanged().is_some() {
            return RawJson::from_valid(self.frame.slice(range(&self.whole)));
        }
        let mut out = Vec::with_capacity(self.written_bytes());
        self.write(&mut out);
        RawJson::from_valid(out)
    }

    /// Returns about how many bytes [`write`](Self::write) appends; names that need escapes are longer.
    pub fn written_bytes(&self) -> usize {
        let set = self.changes.iter().flat_map(|changes| changes.iter());
        let set = set.map(|change| change.name.len() + change.value.written_bytes() + r#""":,"#.len());
        self.whole.len() + set.sum::<usize>() + "{}".len()
    }

    /// Appends the object to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        if let Some(bytes) = self.unchanged() {
            out.extend_from_slice(bytes);
            return;
        }
        out.push(b'{');
        self.write_members(out, true, |_| true);
        out.push(b'}');
    }

    /// Writes one object of both: the members of this one, then those of `rest` that this one does not have.
    pub fn followed_by(&self, rest: &Self) -> RawJson {
        if rest.is_empty() {
            return self.to_raw();
        }
        let mut out = Vec::with_capacity(self.written_bytes() + rest.written_bytes());
        out.push(b'{');
        self.write_members(&mut out, true, |_| true);
        let is_first = out.len() == 1;
        rest.write_members(&mut out, is_first, |name| !self.contains(name));
        out.push(b'}');
        RawJson::from_written(out)
    }

    /// Appends the members whose names `is_kept` accepts, each after a comma except for the first one of the object.
    fn write_members(&self, out: &mut Vec<u8>, mut is_first: bool, is_kept: impl Fn(&str) -> bool) {
        let mut separate = |out: &mut Vec<u8>| {
            if !std::mem::take(&mut is_first) {
                out.push(b',');
            }
        };
        for member in &self.members {
            let change = self.change_of(member);
            if change.is_some_and(|change| matches!(change.value, NewValue::Removed)) {
                continue;
            }
            let name = self.name(member);
            if !is_kept(&name) {
                continue;
            }
            separate(out);
            if member.key.escaped {
                super::write_string(out, &name);
            } else {
                // The name stays as it came, with the quotes around it.
                let Span { start, end } = member.key.span;
                out.extend_from_slice(&self.frame[start as usize - 1..=end as usize]);
            }
            out.push(b':');
            match change {
                Some(change) => change.value.write(out),
                None => out.extend_from_slice(&self.frame[range(&member.value)]),
            }
        }
        for (name, value) in self.added().filter(|(name, _)| is_kept(name)) {
            separate(out);
            super::write_string(out, name);
            out.push(b':');
            value.write(out);
        }
    }

    /// Returns the object as it came, if it has not been changed since.
    fn unchanged(&self) -> Option<&[u8]> {
        let changes = self.changes.iter().flat_map(|changes| changes.iter());
        let is_as_it_came =
            !self.whole.is_empty() && changes.into_iter().all(|change| self.is_as_it_came(change));
        is_as_it_came.then(|| &self.frame[range(&self.whole)])
    }

    /// Returns whether a member was opened for changes, and then not changed.
    fn is_as_it_came(&self, change: &Change) -> bool {
        let NewValue::Object(open) = &change.value else { return false };
        let came = self.member(&change.name).map(|member| &self.frame[range(&member.value)]);
        came.zip(open.members.unchanged()).is_some_and(|(came, now)| std::ptr::eq(came, now))
    }

    fn changed(&self, name: &str) -> Option<&Change> {
        self.changes.as_ref()?.iter().find(|change| change.name == name)
    }

    /// Returns the change of a member that came with the frame.
    fn change_of(&self, member: &ObjectMember) -> Option<&Change> {
        self.changes.as_ref()?.iter().find(|change| self.is_called(member, &change.name))
    }

    /// Returns the members that did not come with the frame.
    fn added(&self) -> impl Iterator<Item = (&str, &NewValue)> {
        self.changes.iter().flat_map(|changes| changes.iter()).filter_map(|change| {
            let is_added = !matches!(change.value, NewValue::Removed) && self.member(&change.name).is_none();
            is_added.then_some((&*change.name, &change.value))
        })
    }

    fn change(&mut self, name: Cow<'static, str>, value: NewValue) {
        let changes = Arc::make_mut(self.changes.get_or_insert_default());
        match changes.iter_mut().find(|change| change.name == name) {
            Some(change) => change.value = value,
            None => changes.push(Change { name, value }),
        }
    }

    fn member(&self, name: &str) -> Option<&ObjectMember> {
        self.members.iter().find(|member| self.is_called(member, name))
    }

    fn is_called(&self, member: &ObjectMember, name: &str) -> bool {
        // Compared where it stands: every look for a member compares names.
        let raw = &self.frame[range(&member.key.span)];
        if member.key.escaped { unescape(raw) == name.as_bytes() } else { raw == name.as_bytes() }
    }

    fn name(&self, member: &ObjectMember) -> Cow<'_, str> {
        match self.raw_name(member) {
            Cow::Borrowed(name) => String::from_utf8_lossy(name),
            Cow::Owned(name) => String::from_utf8_lossy(&name).into_owned().into(),
        }
    }

    fn raw_name(&self, member: &ObjectMember) -> Cow<'_, [u8]> {
        let raw = &self.frame[range(&member.key.span)];
        if member.key.escaped { Cow::Owned(unescape(raw)) } else { Cow::Borrowed(raw) }
    }

    fn value(&self, member: &ObjectMember) -> RawJson {
        RawJson::from_valid(self.frame.slice(range(&member.value)))
    }
}

impl fmt::Debug for Object {
    /// Shows the names only: values may hold secrets, and the text may reach logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|(name, _)| name)).finish()
    }
}

impl PartialEq for Object {
    /// Returns whether both objects write the same bytes.
    fn eq(&self, other: &Self) -> bool {
        self.to_raw() == other.to_raw()
    }
}

impl Serialize for Object {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_raw().serialize(serializer)
    }
}

impl<'de> serde::Deserialize<'de> for Object {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        Self::from_raw(&raw).map_err(serde::de::Error::custom)
    }
}

/// Scans the object at the current offset and notes its members.
pub(crate) fn scan_members(
    scanner: &mut Scanner<'_>,
    members: &mut SmallVec<[ObjectMember; 4]>,
) -> Result<Span, JsonError> {
    let start = scanner.offset();
    let mut object = scanner.open_object()?;
    while let Some(key) = scanner.next_key(&mut object)? {
        let value = scanner.value()?;
        members.push(ObjectMember { key, value });
    }
    let end = scanner.offset();
    scanner.skip_space();
    let bound = |at| u32::try_from(at).map_err(|_| scanner.fault(JsonFault::TooLong));
    Ok(bound(start)?..bound(end)?)
}

pub(crate) fn range(span: &Span) -> std::ops::Range<usize> {
    span.start as usize..span.end as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unchanged_object_is_written_as_it_came() {
        let text = r#"{ "a" : [1, 2],"é":null }"#;
        let object = Object::parse(text).unwrap();
        assert_eq!(object.to_raw().as_bytes(), text.as_bytes());
        assert_eq!(object.get("a").unwrap().as_bytes(), b"[1, 2]");
        assert!(object.get("é").unwrap().is_null());
        assert!(object.get("b").is_none());
    }

    #[test]
    fn a_change_leaves_the_other_members_untouched() {
        let mut object = Object::parse(r#"{"a":1.0,"b":2,"c":3}"#).unwrap();
        object.set("b", RawJson::parse("true").unwrap());
        object.set("d", RawJson::null());
        assert_eq!(object.remove("c").unwrap().as_bytes(), b"3");
        assert_eq!(object.to_raw().as_bytes(), br#"{"a":1.0,"b":true,"d":null}"#);
        object.set("c", RawJson::null());
        assert_eq!(object.to_raw().as_bytes(), br#"{"a":1.0,"b":true,"c":null,"d":null}"#);
    }

    #[test]
    fn a_clone_keeps_what_it_is_when_the_other_is_changed() {
        let mut object = Object::parse(r#"{"a":1}"#).unwrap();
        object.set("b", RawJson::null());
        let before = object.clone();
        object.set("b", RawJson::parse("true").unwrap());
        assert_eq!(before.to_raw().as_bytes(), br#"{"a":1,"b":null}"#);
        assert_eq!(object.to_raw().as_bytes(), br#"{"a":1,"b":true}"#);
    }

    #[test]
    fn a_changed_object_spells_its_names_plainly() {
        let mut object = Object::parse(r#"{"n\u0061me" : "x", "b": 2}"#).unwrap();
        object.set("name", RawJson::null());
        object.set("c\n", RawJson::null());
        assert_eq!(object.to_raw().as_bytes(), br#"{"name":null,"b":2,"c\n":null}"#);
        assert_eq!(
            object.iter().map(|(name, _)| name.into_owned()).collect::<Vec<_>>(),
            ["name", "b", "c\n"]
        );
    }

    #[test]
    fn two_objects_become_one_in_which_the_first_counts() {
        let first = Object::parse(r#"{"b":2,"d":3}"#).unwrap();
        let mut rest = Object::parse(r#"{"a":1, "\u0062":"x","c":[]}"#).unwrap();
        assert_eq!(first.followed_by(&rest).as_bytes(), br#"{"b":2,"d":3,"a":1,"c":[]}"#);
        rest.set("d", RawJson::null());
        rest.set("e", RawJson::null());
        rest.remove("c");
        assert_eq!(first.followed_by(&rest).as_bytes(), br#"{"b":2,"d":3,"a":1,"e":null}"#);
        assert_eq!(first.followed_by(&Object::new()).as_bytes(), br#"{"b":2,"d":3}"#);
        assert_eq!(Object::new().followed_by(&first).as_bytes(), br#"{"b":2,"d":3}"#);
        assert_eq!(Object::new().followed_by(&Object::new()).as_bytes(), b"{}");
    }

    #[test]
    fn a_member_is_an_object_or_none() {
        let mut object = Object::parse(r#"{"a":{"b":1},"c":[],"d":null}"#).unwrap();
        assert_eq!(object.object("a").unwrap().bytes("b"), Some(&b"1"[..]));
        assert!(["c", "d", "e"].iter().all(|name| object.object(name).is_none()));
        object.set("c", RawJson::empty_object());
        assert!(object.object("c").unwrap().is_empty());
    }

    #[test]
    fn an_escaped_name_is_the_name_it_spells() {
        let object = Object::parse(r#"{"n\u0061me":"x\ny"}"#).unwrap();
        assert_eq!(object.text("name").as_deref(), Some("x\ny"));
    }

    #[test]
    fn a_built_object_starts_empty() {
        let mut object = Object::new();
        assert!(object.is_empty());
        assert_eq!(object.to_raw().as_bytes(), b"{}");
        object.set("a\"b", RawJson::null());
        assert_eq!(object.to_raw().as_bytes(), br#"{"a\"b":null}"#);
    }

    #[test]
    fn only_objects_are_objects() {
        for json in ["[]", "1", "{} {}", ""] {
            assert!(Object::parse(json).is_err(), "{json}");
        }
    }
}
