// Light and dark: the system's choice, or the one made on the page.

/** @param {import("./state.js").Store} store */
export function followTheme(store) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const theme = store.state.theme || (system.matches ? "dark" : "light");
    document.documentElement.dataset.theme = theme;
    document.dispatchEvent(new Event("themechange"));
  };
  store.on(["theme"], apply);
  system.addEventListener("change", apply);
  apply();
}

/** Is the page light now? */
export function isLight() {
  return document.documentElement.dataset.theme === "light";
}

/** @param {import("./state.js").Store} store */
export function toggleTheme(store) {
  store.set({ theme: isLight() ? "dark" : "light" });
}
