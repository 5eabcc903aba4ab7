//! What a path may point at: containment in roots.
