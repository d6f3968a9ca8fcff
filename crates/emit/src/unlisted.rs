//! Statements that a language does not list among those that it has.

use tangle_program::tree::Stmt;

/// The name of a statement, as what a language lacks: `discard`.
pub(crate) fn unlisted(stmt: &Stmt) -> String {
    let shown = format!("{stmt:?}");
    let name = shown.split(|c: char| !c.is_alphanumeric()).next();
    name.unwrap_or_default().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use tangle_program::tree::Discard;

    use super::*;

    #[test]
    fn a_statement_has_its_own_name() {
        assert_eq!(unlisted(&Stmt::Discard(Discard::Demote)), "discard");
        assert_eq!(unlisted(&Stmt::Break), "break");
    }
}
