internal import Atto
import AttoRadio
import Foundation

/// A published PSM and its open channels.
struct ChannelPublication {
  let published: PublishedChannel
  var pipes: [WeakReference<ChannelPipe>] = []

  /// Accepts no more channels and closes the open ones, as Apple's framework does.
  @RadioLoop func end() {
    published.stop()
    for pipe in pipes { pipe.object?.endNow() }
  }
}

// A published PSM ends when the radio is switched off. It is not restored: Apple's dictionary has no
// key for it, and the PSM would be another.

extension PublishingEngine {
  func publishChannel(isEncrypted: Bool) {
    guard let radio, radio.state == .poweredOn, let adapter = radio.adapter else {
      return notPublished(CBError(.operationCancelled))
    }
    Task { @RadioLoop [weak self] in
      do throws(RadioError) {
        let published = try await adapter.publishChannel(requiresEncryption: isEncrypted)
        self?.publish(published)
      } catch {
        self?.notPublished(ErrorMapping.channel(error))
      }
    }
  }

  private func notPublished(_ error: any Error) {
    let carried = UncheckedBox(error)
    post { manager in
      manager.delegate?.peripheralManager(
        manager, didPublishL2CAPChannel: 0, error: carried.content)
    }
  }

  private func publish(_ published: PublishedChannel) {
    // Releasing it ends its publication.
    guard !isShutDown, radio?.state == .poweredOn else {
      return notPublished(CBError(.operationCancelled))
    }
    let psm = published.psm
    channels[psm] = ChannelPublication(published: published)
    post { manager in
      manager.delegate?.peripheralManager(manager, didPublishL2CAPChannel: psm, error: nil)
    }
    let opened = published.channels
    Task { @RadioLoop [weak self] in
      for await channel in opened { self?.opened(channel) }
    }
  }

  private func opened(_ channel: Channel) {
    guard let host = radio?.host, let client = host.client(at: channel.peer),
      let central = central(client)
    else {
      // Releasing the channel closes it.
      Warning.log("closed a channel of \(channel.peer), which is not a connected central")
      return
    }
    // The PSM may have been unpublished while the channel was on its way: it is closed then.
    guard channels[channel.psm] != nil else { return }
    let made = CBL2CAPChannel(peer: central, channel)
    channels[channel.psm]?.pipes.removeAll { $0.object == nil }
    channels[channel.psm]?.pipes.append(WeakReference(made.pipe))
    let carried = UncheckedBox(made)
    post { manager in
      manager.delegate?.peripheralManager(manager, didOpen: carried.content, error: nil)
    }
  }

  func unpublishChannel(_ psm: CBL2CAPPSM) {
    let publication = channels.removeValue(forKey: psm)
    publication?.end()
    tellUnpublished(psm, publication == nil ? CBError(.invalidParameters) : nil)
  }

  /// Ends all publications: the radio is not on any more.
  func unpublishAll() {
    let all = channels
    channels = [:]
    for (psm, publication) in all.sorted(by: { $0.key < $1.key }) {
      publication.end()
      tellUnpublished(psm, CBError(.operationCancelled))
    }
  }

  private func tellUnpublished(_ psm: CBL2CAPPSM, _ error: CBError?) {
    post { manager in
      manager.delegate?.peripheralManager(manager, didUnpublishL2CAPChannel: psm, error: error)
    }
  }
}
