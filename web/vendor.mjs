// Copies uPlot, which draws spectra, from its registry package into the served folder.
//
// Run `npm install && npm run vendor` in this folder after changing the version in package.json.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";

const from = new URL("node_modules/uplot/", import.meta.url);
const to = new URL("../python/tachyfits/web/vendor/", import.meta.url);

mkdirSync(to, { recursive: true });
copyFileSync(new URL("dist/uPlot.esm.js", from), new URL("uPlot.esm.js", to));
copyFileSync(new URL("dist/uPlot.min.css", from), new URL("uPlot.min.css", to));
copyFileSync(new URL("dist/uPlot.d.ts", from), new URL("uPlot.esm.d.ts", to));
const { version } = JSON.parse(readFileSync(new URL("package.json", from), "utf8"));
const licence = readFileSync(new URL("LICENSE", from), "utf8");
writeFileSync(new URL("LICENSE-uPlot.txt", to), `uPlot ${version}\n\n${licence}`);
