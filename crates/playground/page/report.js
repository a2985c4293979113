// The page of `shaderlint verify --report` in a frame. It draws itself once the playground has sent the data.

addEventListener("message", ({ origin, data }) => {
  if (origin !== location.origin) return;
  const element = document.getElementById("data");
  if (element.textContent) return;
  element.textContent = data;
  // It is made to draw the data that stands in the page.
  for (const name of ["run.js", "page.js"]) {
    const script = document.createElement("script");
    script.src = name;
    script.async = false;
    document.body.append(script);
  }
});
parent.postMessage("ready", location.origin);
