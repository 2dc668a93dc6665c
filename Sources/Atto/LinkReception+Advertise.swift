import EventLoop
import Links
import Radio

extension LinkReception {
  /// Advertises on a radio of this loop, and takes those who connect.
  ///
  /// - Throws: `radio` if it does not advertise.
  func advertise(
    on radio: any Adapter, _ parameters: AdvertisingParameters
  ) async throws(AttoError) -> ServerListener {
    let (loop, take, onFailure, onEnd) = (loop, take, onFailure, onEnd)
    let advertisement: Advertisement
    do throws(RadioError) {
      advertisement = try await radio.advertise(parameters)
    } catch {
      throw .radio(error)
    }
    advertisement.tellFailures { onFailure(.link($0)) }
    let task = Task(executorPreference: loop.tasks) {
      for await connected in advertisement.links {
        loop.inline {
          do throws(AttoError) {
            try take(connected.take())
          } catch {
            onFailure(error)
          }
        }
      }
      guard !Task.isCancelled, let reason = await (radio as? KernelAdapter)?.endReason else {
        return
      }
      onEnd(.radio(reason))
    }
    let kind = radio is KernelAdapter ? "le" : "air"
    return ServerListener(endpoint: "\(kind):\(await radio.address)") {
      task.cancel()
      advertisement.stop()
      // The radio is kept for as long as it is listened on.
      _ = radio
    }
  }

  /// Advertises on one of the kernel's adapters, which is switched on if need be. Without the
  /// permission to do so, or where the adapter refuses, it only listens: somebody else must
  /// advertise then, and the result's ``ServerListener/notice`` tells why.
  func listen(
    kernel source: L2CAPSource, _ parameters: AdvertisingParameters,
    _ agent: (any PairingAgent)?, orOnly listen: () async throws(AttoError) -> ServerListener
  ) async throws(AttoError) -> ServerListener {
    // Before there is one of our own.
    let rivals = Diagnosis.rivals
    // Whoever names no adapter hears the centrals of all of them; which one should advertise?
    if source == .any {
      let list = try? await KernelAdapters(loop: loop).list()
      if let list, list.count > 1 {
        let listener = try await listen()
        return ServerListener(
          endpoint: listener.endpoint,
          notice: "it listens on all adapters and advertises on none; name one, such as le:@hci0",
          isAdvertised: false
        ) { listener.stop() }
      }
    }
    let radio: KernelAdapter
    do throws(RadioError) {
      radio = try await KernelAdapter.open(source, loop: loop)
    } catch .link(let error) {
      throw .link(error)
    } catch {
      throw .radio(error)
    }
    do throws(AttoError) {
      do throws(RadioError) {
        if await radio.state != .poweredOn { try await radio.powerOn() }
        if let agent { try await radio.setAgent(agent) }
      } catch {
        throw AttoError.radio(error)
      }
      let listener = try await advertise(on: radio, parameters)
      return ServerListener(
        endpoint: "le:@hci\(radio.index)",
        notice: rivals.map {
          "others may listen on the ATT channel too: \($0); the newest gets the connections"
        }
      ) { listener.stop() }
    } catch .radio(.management(let opcode, let status, let adapter)) {
      await radio.close()
      let listener = try await listen()
      let error = RadioError.management(opcode, status, adapter: adapter)
      return ServerListener(
        endpoint: listener.endpoint,
        notice: "it only listens and does not advertise, so nobody finds it: \(error)",
        isAdvertised: false
      ) { listener.stop() }
    }
  }
}
