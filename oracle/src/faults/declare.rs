//! How a table of faults is declared.

/// Declares a table of faults, whose module has a `Hook`.
macro_rules! faults {
    (#[doc = $what:literal] $Fault:ident: $($(#[doc = $about:literal])+ $name:ident => $hook:expr,)+) => {
        #[doc = $what]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $Fault { $($(#[doc = $about])+ $name,)+ }

        impl $Fault {
            /// Every fault, in the order of the table.
            pub const ALL: &[$Fault] = &[$($Fault::$name,)+];

            /// What is wrong, in a sentence: its doc comment.
            pub const fn about(self) -> &'static str {
                match self { $($Fault::$name => concat!($($about),+).trim_ascii(),)+ }
            }

            /// The name in JSON and in reports.
            pub fn name(self) -> String {
                tangle_program::text::snake_case(&format!("{self:?}"))
            }

            /// Where it takes hold.
            pub(super) fn hook(self) -> Hook {
                match self { $($Fault::$name => $hook,)+ }
            }
        }
    };
}
