import AttoEventLoop
import AttoKernelRadio
import AttoLinks
import AttoRadio

extension LinkReception {
  /// Advertises on a radio of this loop, which gets the agent, and accepts the centrals that connect.
  ///
  /// - Throws: `radio` if it cannot advertise.
  func advertise(
    on radio: Adapter, _ options: ListenOptions
  ) async throws(AttoError) -> ServerListener {
    let (loop, accept, onFailure, onEnd) = (loop, accept, onFailure, onEnd)
    let advertisement: Advertisement
    do throws(RadioError) {
      if let agent = options.agent { try await radio.setAgent(agent) }
      advertisement = try await radio.advertise(options.advertising)
    } catch {
      throw .radio(error)
    }
    advertisement.onFailure { onFailure(.link($0)) }
    let task = Task(executorPreference: loop.tasks) {
      for await connected in advertisement.links {
        loop.inline {
          do throws(AttoError) {
            try accept(connected.unwrap())
          } catch {
            onFailure(error)
          }
        }
      }
      guard !Task.isCancelled, let reason = await radio.endReason, reason != .closed else {
        return
      }
      onEnd(.radio(reason))
    }
    let kind = radio.index == nil ? "air" : "le"
    return ServerListener(endpoint: "\(kind):\(radio.address)") {
      task.cancel()
      advertisement.stop()
      // The radio lives as long as the listener.
      _ = radio
    }
  }

  /// Advertises on one of the kernel's adapters, which is switched on if necessary. Without the
  /// permission to do so, or if the adapter refuses, it only listens: another process must advertise
  /// then, and ``ServerListener/notice`` gives the reason.
  func listen(
    kernel source: L2CAPSource, _ options: ListenOptions,
    orOnly listen: () async throws(AttoError) -> ServerListener
  ) async throws(AttoError) -> ServerListener {
    // Before this process listens itself.
    let rivals = BluetoothProgram.otherListeners.prefix(8)
    // Without a named adapter, centrals of all adapters are accepted: none is chosen to advertise.
    if source == .any {
      let list = try? await KernelAdapters(loop: loop).list()
      if let list, list.count > 1 {
        let listener = try await listen()
        return ServerListener(
          endpoint: listener.endpoint,
          notice:
            "listening on all adapters without advertising; to advertise, name one, such as le:@hci0",
          isAdvertised: false
        ) { listener.stop() }
      }
    }
    let radio: Adapter
    do throws(RadioError) {
      radio = try await Adapter.kernel(source, loop: loop)
    } catch .link(let error) {
      throw .link(error)
    } catch {
      throw .radio(error)
    }
    do throws(AttoError) {
      do throws(RadioError) {
        if await radio.state != .poweredOn { try await radio.powerOn() }
      } catch {
        throw AttoError.radio(error)
      }
      let listener = try await advertise(on: radio, options)
      return ServerListener(
        endpoint: "le:@\(radio.label)",
        notice: rivals.isEmpty
          ? nil
          : "other processes may listen on the ATT channel: "
            + rivals.map(\.description).joined(separator: ", ")
            + "; the newest gets the connections"
      ) { listener.stop() }
    } catch .radio(.management(let opcode, let status, let adapter)) {
      await radio.close()
      let listener = try await listen()
      let error = RadioError.management(opcode, status, adapter: adapter)
      return ServerListener(
        endpoint: listener.endpoint,
        notice: "listening without advertising, so clients cannot find it: \(error)",
        isAdvertised: false
      ) { listener.stop() }
    }
  }
}
