const status = document.getElementById("status");
const files = await (await fetch("api/v1/files")).json();
const { id } = files.entries[0];
const dataset = await (await fetch(`api/v1/dataset?id=${encodeURIComponent(id)}`)).json();
status.textContent = `${id}: ${dataset.naxis.join(" x ")}`;
