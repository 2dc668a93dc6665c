import Atto
import AttoATT
import AttoEventLoop
import AttoFormats
import AttoLinks

/// A peer in memory that plays a script: it sends the script's PDUs and expects the others from the
/// program under test.
///
/// ```
/// # reads the battery level
/// > 0a 03 00
/// < 0b 64
/// ```
///
/// A script is one case of a transcript, with its heading. `>` is a PDU from client to server, `<` one
/// from server to client; in a PDU that the peer expects from a server, `??` is any octet, and `...`
/// any rest. `wait 5s` lets time pass, `silence 5s` expects that nothing comes for this time,
/// `security medium` sets the security of the link, and `disconnect` closes it.
///
/// The link is closed when the program deviates from the script, so that its calls end, and when the
/// peer is released.
public final class ScriptedPeer: Sendable {
  private let player: ScriptPlayer
  private let playing: Task<ScriptError?, Never>

  /// Connects a scripted client to a server, on the server's loop.
  ///
  /// - Parameter patience: the time for each expected PDU.
  /// - Throws: ``AttoTesting/ScriptError/invalid(_:)`` for a mistake in the script; ``Atto/AttoError`` as
  ///   ``Atto/Connection/pair(server:options:serverOptions:)`` does.
  public static func connect(
    to server: LocalServer, script: String, options: ConnectionOptions = ConnectionOptions(),
    patience: Duration = .seconds(60)
  ) async throws -> ScriptedPeer {
    let script = try Script(script, for: .client)
    return try await server.loop.withWaiter { (waiter: Waiter<ScriptedPeer, AttoError>) in
      let (link, peer) = MemoryLink.pair()
      do throws(AttoError) {
        try server.serve(peer, options)
        waiter.resume(.success(try ScriptedPeer(link, script, patience, server.loop)))
      } catch {
        waiter.resume(.failure(error))
      }
    }
  }

  /// Plays on one end of a link. On the loop's thread.
  init(
    _ link: MemoryLink, _ script: Script, _ patience: Duration, _ loop: Loop
  ) throws(AttoError) {
    let connection = try RawConnection.make(link, ConnectionOptions(), loop).get()
    let player = ScriptPlayer(
      script: script, connection: connection, link: LoopBound(link, loop), patience: patience)
    self.player = player
    playing = Task(executorPreference: loop.tasks) { await player.play() }
  }

  deinit { playing.cancel() }

  /// Waits until the whole script was played, and checks that nothing more has come.
  ///
  /// - Throws: ``ScriptError/deviation(line:expected:found:)`` for the first difference; `cancelled`.
  public func finished() async throws(ScriptError) {
    let playing = playing
    let error = await withTaskCancellationHandler {
      await playing.value
    } onCancel: {
      playing.cancel()
    }
    if let error { throw error }
    if let excess = await player.excess() { throw excess }
  }
}

extension Connection {
  /// Connects a client to a scripted server in memory.
  ///
  /// - Parameters:
  ///   - script: see ``AttoTesting/ScriptedPeer``.
  ///   - patience: the time for each expected PDU.
  /// - Throws: ``AttoTesting/ScriptError/invalid(_:)`` for a mistake in the script; ``Atto/AttoError`` as
  ///   ``pair(server:options:serverOptions:)`` does.
  public static func pair(
    script: String, options: ConnectionOptions = ConnectionOptions(),
    patience: Duration = .seconds(60), loop: Loop = .shared
  ) async throws -> (connection: Connection, peer: ScriptedPeer) {
    let script = try Script(script, for: .server)
    let pair = try await loop.withWaiter {
      (waiter: Waiter<(connection: Connection, peer: ScriptedPeer), AttoError>) in
      let (link, peer) = MemoryLink.pair()
      do throws(AttoError) {
        let scripted = try ScriptedPeer(peer, script, patience, loop)
        waiter.resume(.success((try make(link, options, nil, loop).get(), scripted)))
      } catch {
        waiter.resume(.failure(error))
      }
    }
    try await pair.connection.prepare(options)
    return pair
  }
}
