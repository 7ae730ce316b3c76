//! Options that other crates set field by field.

/// Defines a struct with a setter for each field: `Options::default().threads(2)`. Other crates cannot write a literal
/// of it, so fields can be added.
macro_rules! options {
    ($(#[$meta:meta])* pub struct $name:ident $(<$life:lifetime>)? {
        $($(#[$about:meta])* pub $field:ident: $of:ty,)+
    }) => {
        $(#[$meta])*
        #[non_exhaustive]
        pub struct $name $(<$life>)? {
            $($(#[$about])* pub $field: $of,)+
        }

        impl $(<$life>)? $name $(<$life>)? {
            $(
                $(#[$about])*
                #[must_use]
                pub fn $field(mut self, $field: $of) -> Self {
                    self.$field = $field;
                    self
                }
            )+
        }
    };
}
