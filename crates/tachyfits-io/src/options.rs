//! Option structs that other crates set field by field.

/// Defines a struct with a setter for each of its fields: `Options::default().threads(2)`. Other crates cannot write a
/// literal of it, so fields can be added later. With `const`, for types without destructors, the setters work in
/// constants.
#[doc(hidden)]
#[macro_export]
macro_rules! options {
    (const $($struct:tt)+) => { $crate::options! { @ (const) $($struct)+ } };
    (@ ($($constant:tt)?) $(#[$meta:meta])* pub struct $name:ident $(<$life:lifetime>)? {
        $($(#[$about:meta])* pub $field:ident: $of:ty,)+
    }) => {
        $(#[$meta])*
        #[non_exhaustive]
        pub struct $name $(<$life>)? {
            $($(#[$about])* pub $field: $of,)+
        }

        $crate::options! { @setters $($constant)? [$(<$life>)?] [$name $(<$life>)?] $($(#[$about])* $field: $of,)+ }
    };
    (@setters $constant:tt [$($life:tt)*] [$($name:tt)+] $($(#[$about:meta])* $field:ident: $of:ty,)+) => {
        impl $($life)* $($name)+ {
            $(
                $(#[$about])*
                #[must_use]
                pub $constant fn $field(mut self, $field: $of) -> Self {
                    self.$field = $field;
                    self
                }
            )+
        }
    };
    (@setters [$($life:tt)*] [$($name:tt)+] $($(#[$about:meta])* $field:ident: $of:ty,)+) => {
        impl $($life)* $($name)+ {
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
    ($($struct:tt)+) => { $crate::options! { @ () $($struct)+ } };
}
