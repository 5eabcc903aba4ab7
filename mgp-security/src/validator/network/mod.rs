//! What a network address may point at, in every spelling.
