// Browsers start no worker from a page that was opened from disk, so its script, the search of the site, runs in a hidden frame of the page.
if (location.protocol === "file:") {
  class FrameWorker extends EventTarget {
    constructor(address) {
      super()
      const frame = document.body.appendChild(document.createElement("iframe"))
      frame.hidden = true
      const inside = frame.contentWindow
      const load = (source) => new Promise((loaded, failed) => {
        const script = Object.assign(inside.document.createElement("script"), { src: source, onload: loaded, onerror: failed })
        inside.document.body.appendChild(script)
      })
      inside.importScripts = (...sources) => sources.reduce((before, source) => before.then(() => load(source)), Promise.resolve())
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      const ready = load(new URL(address, location))
      this.postMessage = (data) => ready.then(() => inside.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
  window.Worker = window.IFrameWorker = FrameWorker // by the second name its script knows that it must take paths from its own address
}
