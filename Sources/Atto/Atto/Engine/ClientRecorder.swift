import AttoATT
import AttoEventLoop
import AttoGATT
import AttoLinks

/// Records what a bonded client configures in the server's ``ClientMemory``, and restores it.
///
/// # Theory
/// A change that a response acknowledges is stored first; until it is durable the connection sends
/// nothing (``LinkSender/isHeld``). Nobody is told of the effect of a command, so such changes are
/// collected for ``commandDelay`` before they are stored: a client cannot keep the disk busy.
///
/// While the memory looks the client up, or stores the counter of a signed write, the connection
/// reads nothing (``ConnectionCore/isAwaitingMemory``). A signed write is carried out again when
/// its counter is durable.
final class ClientRecorder {
  private let memory: any ClientMemory
  private let server: Server
  private let client: ServerClient
  private unowned let connection: ConnectionCore
  private let loop: Loop
  /// The client's revision that was stored last.
  @exclusivity(unchecked) private var revision: UInt32
  /// Nothing is stored before, so that a client that ends early does not lose its record.
  private var isRestored = false
  /// Whether the memory knows the client as bonded.
  @exclusivity(unchecked) private(set) var isBonded = false
  private var delay: LoopTimer?
  /// Records that are being stored, and those among them that responses wait for.
  private var storing = 0
  private var holding = 0
  private var whenStored: (() -> Void)?
  /// The counter of a signed write that must be stored before the write has an effect, and the one
  /// that has been stored.
  @exclusivity(unchecked) private var wantedCounter: UInt32?
  private var storedCounter: UInt32?

  /// How long changes that are not acknowledged may wait before they are stored.
  static let commandDelay: Duration = .milliseconds(100)

  init(
    _ memory: any ClientMemory, _ server: Server, _ client: ServerClient,
    of connection: ConnectionCore
  ) {
    self.memory = memory
    self.server = server
    self.client = client
    self.connection = connection
    loop = connection.loop
    revision = client.recordRevision
  }

  /// Looks the client up; `body` is called on the loop, at once if its link has no addresses.
  func recall(_ body: @escaping (RememberedClient?) -> Void) {
    connection.refreshAddresses()
    guard let addresses = connection.addresses else { return body(nil) }
    let bound = LoopBound(body, loop)
    memory.recall(addresses) { remembered in
      bound.loop.inline { bound.value(remembered) }
    }
  }

  /// Applies what the memory has of the client; nil if it is not bonded.
  func restore(_ remembered: RememberedClient?) {
    isBonded = remembered != nil
    if let record = remembered?.record { server.restore(record, of: client) }
    if let remembered { useKey(of: remembered) }
    revision = client.recordRevision
    isRestored = true
  }

  /// The client may have bonded, or have a new key.
  func bondChanged() {
    recall { [weak connection] remembered in
      guard let connection, !connection.hasEnded, let recorder = connection.recorder else { return }
      recorder.isBonded = remembered != nil
      if let remembered { recorder.useKey(of: remembered) }
      recorder.store(holds: false)
    }
  }

  private func useKey(of remembered: RememberedClient) {
    guard let key = remembered.signingKey else { return }
    client.setSigningKey(key, counter: remembered.signCounter)
  }

  // MARK: Storing

  /// Whether the client has changed since its record was stored.
  var isDue: Bool { client.hasChanged(since: revision) }

  /// Stores the client's record: now if a response waits to be sent, otherwise after a delay.
  func recordChange(isAcknowledged: Bool) {
    if isAcknowledged { return store(holds: true) }
    guard delay == nil else { return }
    delay = LoopTimer(after: Self.commandDelay, on: loop) { [weak self] in
      guard let self else { return }
      delay = nil
      if isDue { store(holds: false) }
    }
  }

  /// Stores what has not been stored when the connection ends.
  func finish() {
    if isDue { store(holds: false) }
    delay?.cancel()
    delay = nil
  }

  /// Calls `body` when nothing is being stored any more.
  func afterStoring(_ body: @escaping () -> Void) {
    if storing == 0 { body() } else { whenStored = body }
  }

  private func store(holds: Bool) {
    delay?.cancel()
    delay = nil
    guard isRestored else { return }
    revision = client.recordRevision
    guard let addresses = connection.addresses else { return }
    // The link may have been encrypted since the client's security was last noted.
    if client.security.level == .low, !connection.hasEnded {
      client.security = connection.link.security
    }
    guard client.security.level > .low else { return }
    storing += 1
    if holds {
      holding += 1
      connection.hold(true)
    }
    let bound = LoopBound(self, loop)
    memory.remember(server.record(of: client), of: addresses) {
      bound.loop.inline { bound.value.stored(held: holds) }
    }
  }

  private func stored(held: Bool) {
    storing -= 1
    if held { holding -= 1 }
    if held, holding == 0, whenStored == nil {
      connection.hold(false)
      connection.settle()
    }
    guard storing == 0, let body = whenStored else { return }
    whenStored = nil
    body()
  }

  // MARK: Signed writes

  /// Whether a signed write waits until its counter is stored.
  var isCounterWanted: Bool { wantedCounter != nil }

  /// Whether a signed write may have its effect now. If not, its counter is to be stored first.
  func accepts(signCounter counter: UInt32) -> Bool {
    guard connection.addresses != nil, storedCounter != counter else { return true }
    wantedCounter = counter
    return false
  }

  /// Stores the counter of a signed write and calls `body` on the loop with the outcome.
  func storeCounter(_ body: @escaping (_ isStored: Bool) -> Void) {
    guard let counter = wantedCounter, let addresses = connection.addresses else {
      return body(false)
    }
    wantedCounter = nil
    let bound = LoopBound((recorder: self, body: body), loop)
    memory.accept(signCounter: counter, of: addresses) { isStored in
      bound.loop.inline {
        if isStored { bound.value.recorder.storedCounter = counter }
        bound.value.body(isStored)
      }
    }
  }
}
